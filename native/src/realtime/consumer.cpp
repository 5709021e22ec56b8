#include "realtime/consumer.hpp"

#include <algorithm>
#include <limits>
#include <thread>

#include "os/clock.hpp"
#include "realtime/cpu.hpp"

namespace allocpool::realtime {

Consumer::Consumer(const Ring& ring, DelayHistogram& delays, std::int64_t max_ticks, const ForcedStall& stall,
                   bool yields)
    : ring_(ring),
      reader_(ring_),
      delays_(delays),
      stall_(stall),
      limit_(max_ticks > 0 ? max_ticks : std::numeric_limits<std::int64_t>::max()),
      most_(std::max<std::int64_t>(1, ring_.capacity() / kQueueParts)),
      yields_(yields) {
  RingHeader& header = ring_.header();
  account_.last_sequence = RingReader::kNone;
  warmup_ = static_cast<std::int64_t>(header.warmup.load(std::memory_order_relaxed));
  header.ready.store(1, std::memory_order_release);
  while (header.state.load(std::memory_order_acquire) < RingHeader::kRunning) rest();
  t0_ns_ = header.t0_ns.load(std::memory_order_relaxed);
  interval_ns_ = header.interval_ns.load(std::memory_order_relaxed);
  if (interval_ns_ > 0) group_ticks_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(kGroupNs / interval_ns_));
  account_.start_ns = account_.measured_start_ns = os::monotonic_ns();
}

Burst Consumer::next() {
  RingHeader& header = ring_.header();
  if (in_hand_ > 0) account_for(in_hand_);
  in_hand_ = 0;
  while (account_.received < limit_) {
    const std::int64_t batch_ticks = interval_ns_ > 0 ? (late_ ? kLateBatch : kBatch) : kSaturatedBatch;
    const std::int64_t wanted = std::min({batch_ticks, most_, limit_ - account_.received});
    in_hand_ = reader_.take(batch_.data(), static_cast<std::size_t>(wanted));
    if (in_hand_ > 0) return {batch_.data(), in_hand_};
    if (finished_) break;
    // What was pushed before the state changed is seen by the next look into the ring.
    finished_ = header.state.load(std::memory_order_acquire) == RingHeader::kFinished;
    if (!finished_) rest();
  }
  header.last.store(static_cast<std::uint64_t>(account_.last_sequence + 1), std::memory_order_release);
  return {nullptr, 0};
}

void Consumer::rest() const {
  if (yields_) {
    std::this_thread::yield();
  } else {
    cpu_relax();
  }
}

void Consumer::account_for(std::size_t taken) {
  const std::int64_t now_ns = os::monotonic_ns();
  const std::int64_t* const batch = batch_.data();
  account_.end_ns = now_ns;
  const std::int64_t count = static_cast<std::int64_t>(taken);
  // Numbers only grow: as many as there are steps, and none is missing.
  if (batch[taken - 1] - account_.last_sequence != count) miss(batch, taken);
  account_.last_sequence = batch[taken - 1];
  account_.received += count;
  std::size_t first = 0;
  if (batch[0] < warmup_) {
    while (first < taken && batch[first] < warmup_) ++first;
    account_.warmup_received += static_cast<std::int64_t>(first);
    account_.measured_start_ns = now_ns;
  }
  if (interval_ns_ > 0) record_delays(batch + first, taken - first, now_ns);
  if (stall_.length_ns > 0 && now_ns >= t0_ns_ + stall_.at_ns) stall(now_ns);
}

// Accounts for the numbers before and between those that came.
void Consumer::miss(const std::int64_t* batch, std::size_t taken) {
  std::int64_t next = account_.last_sequence + 1;
  for (std::size_t i = 0; i < taken; ++i) {
    account_.missing += batch[i] - next;
    account_.warmup_missing += std::max<std::int64_t>(0, std::min(batch[i], warmup_) - next);
    next = batch[i] + 1;
  }
}

void Consumer::record_delays(const std::int64_t* batch, std::size_t count, std::int64_t now_ns) {
  if (count == 0) return;
  const std::int64_t longest_ns = delay_ns(batch[0], now_ns);
  late_ = longest_ns > kLateNs;
  if (longest_ns - delay_ns(batch[count - 1], now_ns) <= DelayHistogram::resolution_ns(longest_ns)) {
    delays_.record(longest_ns, static_cast<std::int64_t>(count));
    return;
  }
  for (std::size_t i = 0; i < count;) {
    std::size_t next = i + 1;
    while (next < count && batch[next] - batch[i] < group_ticks_) ++next;
    delays_.record(delay_ns(batch[i], now_ns), static_cast<std::int64_t>(next - i));
    i = next;
  }
}

std::int64_t Consumer::delay_ns(std::int64_t tick, std::int64_t now_ns) const {
  return now_ns - t0_ns_ - static_cast<std::int64_t>(static_cast<double>(tick) * interval_ns_);  // due: rounded down
}

void Consumer::stall(std::int64_t now_ns) {
  while (os::monotonic_ns() - now_ns < stall_.length_ns) cpu_relax();
  account_.stalled_ns = os::monotonic_ns() - now_ns;
  stall_.length_ns = 0;
}

}  // namespace allocpool::realtime
