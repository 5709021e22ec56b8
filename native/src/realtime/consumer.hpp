// The consumer's loop: takes ticks, hands each to a sink, and keeps its own account of what is missing.
//
// Delay is the time from when a tick was due to when it was consumed, whether or not the source or the ring held it
// up in between, so it is free of coordinated omission (Tene: "How NOT to measure latency"). The clock is read once
// per batch, after the batch: a delay is never reported too short, and too long at most by what the rest of its batch
// took. Ticks due within kGroupNs of one another are recorded together with the delay of the earliest, which adds
// less than kGroupNs; a whole batch that is due within less than what the histogram tells apart at its delay is recorded
// as one. Batches longer than one tick only form when ticks are waiting, so none of this is there when the consumer
// keeps up with ticks further apart than that.
//
// A batch is taken out of the ring before its first tick is handed on. Ticks that are handed on as they are taken wait
// one by one for memory when the consumer is so far behind that the ring has left the caches, and it would never catch
// up at a rate that it can sustain. What it has in hand is at most kQueueParts-th of what the queue holds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "allocpool.h"
#include "os/clock.hpp"
#include "realtime/cpu.hpp"
#include "realtime/histogram.hpp"
#include "realtime/ring.hpp"

namespace allocpool::realtime {

// A stop of the consumer, on purpose: from the first batch at or after t0 + at_ns, for length_ns. 0: none.
struct ForcedStall {
  std::int64_t at_ns = 0;
  std::int64_t length_ns = 0;
};

class Consumer {
 public:
  static constexpr std::int64_t kGroupNs = 64;
  static constexpr std::int64_t kBatch = 16;            // most ticks per reading of the clock, when each has a delay,
  static constexpr std::int64_t kLateBatch = 64;        // when the last one was longer than kLateNs,
  static constexpr std::int64_t kSaturatedBatch = 256;  // and when the source saturates
  static constexpr std::int64_t kLateNs = 4'000'000;
  static constexpr std::int64_t kQueueParts = 256;

  Consumer(const Ring& ring, DelayHistogram& delays) : ring_(ring), delays_(delays) {}

  void set_stall(const ForcedStall& stall) { stall_ = stall; }

  // Consumes until the source has finished and the ring is empty, or until `max_ticks` were taken (0: no such limit).
  // The sink is called as sink(sequence) for each tick, on this thread. A source must have been started.
  template <class Sink>
  ap_consumption run(std::int64_t max_ticks, Sink&& sink) {
    RingHeader& header = ring_.header();
    RingReader reader(ring_);
    account_ = {};
    account_.last_sequence = RingReader::kNone;
    warmup_ = static_cast<std::int64_t>(header.warmup.load(std::memory_order_relaxed));
    header.ready.store(1, std::memory_order_release);
    while (header.state.load(std::memory_order_acquire) < RingHeader::kRunning) cpu_relax();
    t0_ns_ = header.t0_ns.load(std::memory_order_relaxed);
    interval_ns_ = header.interval_ns.load(std::memory_order_relaxed);
    group_ticks_ = interval_ns_ > 0 ? std::max<std::int64_t>(1, static_cast<std::int64_t>(kGroupNs / interval_ns_)) : 1;
    account_.start_ns = account_.measured_start_ns = os::monotonic_ns();

    std::array<std::int64_t, kSaturatedBatch> batch;
    bool finished = false;
    late_ = false;
    const std::int64_t most = std::max<std::int64_t>(1, ring_.capacity() / kQueueParts);
    const std::int64_t limit = max_ticks > 0 ? max_ticks : std::numeric_limits<std::int64_t>::max();
    while (account_.received < limit) {
      const std::int64_t batch_ticks = interval_ns_ > 0 ? (late_ ? kLateBatch : kBatch) : kSaturatedBatch;
      const std::int64_t wanted = std::min({batch_ticks, most, limit - account_.received});
      const std::size_t taken = reader.take(batch.data(), static_cast<std::size_t>(wanted));
      for (std::size_t i = 0; i < taken; ++i) sink(batch[i]);
      if (taken > 0) {
        account_for(batch.data(), taken);
      } else if (finished) {
        break;
      } else {
        // What was pushed before the state changed is seen by the next look into the ring.
        finished = header.state.load(std::memory_order_acquire) == RingHeader::kFinished;
        if (!finished) cpu_relax();
      }
    }
    header.last.store(static_cast<std::uint64_t>(account_.last_sequence + 1), std::memory_order_release);
    return account_;
  }

 private:
  void account_for(const std::int64_t* batch, std::size_t taken) {
    const std::int64_t now_ns = os::monotonic_ns();
    account_.end_ns = now_ns;
    for (std::size_t i = 0; i < taken; ++i) {
      if (batch[i] != account_.last_sequence + 1) miss(account_.last_sequence + 1, batch[i]);
      account_.last_sequence = batch[i];
    }
    account_.received += static_cast<std::int64_t>(taken);
    std::size_t first = 0;
    if (batch[0] < warmup_) {
      while (first < taken && batch[first] < warmup_) ++first;
      account_.warmup_received += static_cast<std::int64_t>(first);
      account_.measured_start_ns = now_ns;
    }
    if (interval_ns_ > 0) record_delays(batch + first, taken - first, now_ns);
    if (stall_.length_ns > 0 && now_ns >= t0_ns_ + stall_.at_ns) stall(now_ns);
  }

  // Sequence numbers [from, to) did not come.
  void miss(std::int64_t from, std::int64_t to) {
    account_.missing += to - from;
    account_.warmup_missing += std::max<std::int64_t>(0, std::min(to, warmup_) - from);
  }

  void record_delays(const std::int64_t* batch, std::size_t count, std::int64_t now_ns) {
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

  std::int64_t delay_ns(std::int64_t tick, std::int64_t now_ns) const {
    return now_ns - t0_ns_ - static_cast<std::int64_t>(static_cast<double>(tick) * interval_ns_);  // due: rounded down
  }

  void stall(std::int64_t now_ns) {
    while (os::monotonic_ns() - now_ns < stall_.length_ns) cpu_relax();
    account_.stalled_ns = os::monotonic_ns() - now_ns;
    stall_.length_ns = 0;
  }

  const Ring ring_;
  DelayHistogram& delays_;
  ForcedStall stall_;
  ap_consumption account_{};
  std::int64_t warmup_ = 0;
  std::int64_t t0_ns_ = 0;
  double interval_ns_ = 0;
  std::int64_t group_ticks_ = 1;
  bool late_ = false;
};

}  // namespace allocpool::realtime
