#include "realtime/session.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "flows.hpp"
#include "os/thread.hpp"
#include "user_error.hpp"

namespace allocpool::realtime {
namespace {

constexpr double kMaxIntervalNs = 1e9;
constexpr std::int64_t kMaxTicks = std::int64_t{1} << 52;  // so that i * interval stays exact to a nanosecond

std::string text(double value) {
  std::string digits = std::to_string(value);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

[[noreturn]] void refuse(const std::string& name, const std::string& value, const std::string& valid) {
  throw UserError(name + " is " + value + ": it must be " + valid);
}

void require_within(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) {
    refuse(name, std::to_string(value), "from " + std::to_string(low) + " to " + std::to_string(high));
  }
}

const Session::Limits& checked(const Session::Limits& limits) {
  require_within("max_capacity", limits.capacity, 1, Ring::kMaxCapacity);
  constexpr std::int64_t kMaxRecords = 1 << 28;
  require_within("max_bursts", limits.bursts, 0, kMaxRecords);
  require_within("max_slips", limits.slips, 0, kMaxRecords);
  require_within("max_samples", limits.samples, 0, kMaxRecords);
  require_within("rings", limits.rings, 1, 1024);
  const std::uint64_t bytes = static_cast<std::uint64_t>(limits.rings) * Ring::bytes(limits.capacity) +
                              static_cast<std::uint64_t>(limits.bursts) * sizeof(ap_burst) +
                              static_cast<std::uint64_t>(limits.slips) * sizeof(ap_slip) +
                              static_cast<std::uint64_t>(limits.samples) * sizeof(ap_sample);
  if (bytes > os::physical_memory_bytes()) {
    throw UserError("ring and logs need " + std::to_string(bytes >> 20) + " MiB and this machine has " +
                    std::to_string(os::physical_memory_bytes() >> 20) + " MiB: choose a smaller queue");
  }
  return limits;
}

bool wants_tsc(std::string_view clock) {
  const bool invariant = tsc_is_invariant();
  if (clock == "auto") return invariant;
  if (clock == "clock_gettime") return false;
  if (clock != "tsc") {
    throw UserError("unknown clock '" + std::string(clock) + "': choose one of auto,tsc,clock_gettime");
  }
  if (!invariant) {
    throw UserError("this machine has no invariant time-stamp counter: choose clock auto or clock_gettime");
  }
  return true;
}

// How often a relay looks: some times while the input queue fills, and no more often than a sleep is worth.
std::int64_t look_ns(const ap_source_config& config) {
  constexpr double kLooksAQueue = 10;
  constexpr double kShortestNs = 1'000;
  constexpr double kLongestNs = 100'000;
  const double queue_ns = static_cast<double>(config.capacity) * config.interval_ns;
  return static_cast<std::int64_t>(std::clamp(queue_ns / kLooksAQueue, kShortestNs, kLongestNs));
}

std::deque<os::MappedMemory> mapped(std::int64_t count, std::size_t bytes) {
  std::deque<os::MappedMemory> memories;
  for (std::int64_t i = 0; i < count; ++i) memories.emplace_back(bytes);
  return memories;
}

std::vector<Ring> over(const std::deque<os::MappedMemory>& memories) {
  std::vector<Ring> rings;
  for (const os::MappedMemory& memory : memories) rings.emplace_back(memory.data());
  return rings;
}

std::string differ(const std::string& left, std::int64_t a, const std::string& right, std::int64_t b) {
  return left + " " + std::to_string(a) + " is not " + right + " " + std::to_string(b);
}

}  // namespace

std::int64_t capacity_of(double input_queue_ms, double interval_ns) {
  if (!(interval_ns > 0) || interval_ns > kMaxIntervalNs) {
    refuse("interval_ns", text(interval_ns), "above 0 and at most " + text(kMaxIntervalNs));
  }
  if (!(input_queue_ms > 0) || std::isinf(input_queue_ms)) refuse("input_queue_ms", text(input_queue_ms), "above 0");
  const double ticks = std::nearbyint(input_queue_ms * 1e6 / interval_ns);
  if (ticks < 1 || ticks > static_cast<double>(Ring::kMaxCapacity)) {
    throw UserError("input_queue_ms " + text(input_queue_ms) + " at interval_ns " + text(interval_ns) + " is " +
                    text(ticks) + " ticks: a ring holds from 1 to " + std::to_string(Ring::kMaxCapacity));
  }
  return static_cast<std::int64_t>(ticks);
}

Session::Session(const Limits& limits)
    : max_capacity_(checked(limits).capacity),
      flow_seed_(limits.flow_seed),
      memories_(mapped(limits.rings, Ring::bytes(max_capacity_))),
      rings_(over(memories_)),
      source_(rings_, flow_seed_, static_cast<std::size_t>(limits.bursts), static_cast<std::size_t>(limits.slips),
              static_cast<std::size_t>(limits.samples)) {}

const os::MappedMemory& Session::memory(std::int64_t ring) const {
  require_within("ring", ring, 0, rings() - 1);
  return relay_ ? relay_->memory() : memories_[static_cast<std::size_t>(ring)];
}

const Ring& Session::ring(std::int64_t ring) const {
  require_within("ring", ring, 0, rings() - 1);
  return relay_ ? relay_->ring() : rings_[static_cast<std::size_t>(ring)];
}

void Session::set_intermediate(std::int64_t capacity) {
  if (source_.running()) throw UserError("the source is running: wait for it or stop it first");
  require_within("intermediate queue", capacity, 0, Ring::kMaxCapacity);
  if (capacity > 0 && rings() > 1) throw UserError("several rings have no intermediate queue: choose one ring, or 0");
  if (Ring::bytes(capacity) > os::physical_memory_bytes()) {
    throw UserError("the intermediate queue needs " + std::to_string(Ring::bytes(capacity) >> 20) +
                    " MiB and this machine has " + std::to_string(os::physical_memory_bytes() >> 20) +
                    " MiB: choose a shorter one");
  }
  relay_ = capacity > 0 ? std::make_unique<Relay>(rings_.front(), capacity) : nullptr;
}

void Session::wait() {
  source_.wait();
  if (relay_) relay_->stop();
}

void Session::stop() {
  source_.stop();
  if (relay_) relay_->stop();
}

void Session::start(const ap_source_config& config) {
  if (source_.running()) throw UserError("the source is running: wait for it or stop it before it is started again");
  if (!(config.interval_ns >= 0) || config.interval_ns > kMaxIntervalNs) {
    refuse("interval_ns", text(config.interval_ns), "0 (saturate) or above, and at most " + text(kMaxIntervalNs));
  }
  if (config.interval_ns == 0 && rings() > 1) refuse("interval_ns", "0", "above 0 with several rings");
  require_within("capacity", config.capacity, 1, max_capacity_);
  require_within("ticks", config.ticks, 1, kMaxTicks);
  require_within("warmup_ticks", config.warmup_ticks, 0, config.ticks);
  require_within("slip_threshold_ns", config.slip_threshold_ns, 1'000, std::int64_t{1} << 62);
  require_within("burst_gap_ns", config.burst_gap_ns, 0, std::int64_t{1} << 62);
  require_within("processor", config.processor, -1, os::processor_count() - 1);
  if (config.clock == nullptr) throw UserError("clock must be named: choose one of auto,tsc,clock_gettime");
  const bool use_tsc = wants_tsc(config.clock);
  for (Ring& ring : rings_) ring.reset(config.capacity);
  source_.start({config.interval_ns, config.ticks, config.warmup_ticks, config.slip_threshold_ns, config.burst_gap_ns,
                 static_cast<int>(config.processor), use_tsc, config.yields != 0});
  if (relay_) relay_->start(look_ns(config));
}

void Session::begin_consuming() {
  if (!source_.running()) throw UserError("the source was not started: start it before consuming");
  if (ring().header().ready.load() != 0) throw UserError("this run has its consumer: start the source again first");
  delays_.clear();
}

Session::Left Session::left_in(const Ring& ring) {
  Left left;
  const RingHeader& header = ring.header();
  const auto consumed = static_cast<std::int64_t>(header.consumed.load(std::memory_order_acquire));
  std::uint64_t last = header.last.load(std::memory_order_acquire);
  const auto warmup = header.warmup.load(std::memory_order_relaxed);
  for (std::int64_t push = consumed; push < consumed + ring.capacity(); ++push) {
    const std::uint64_t value = ring.slots()[push % ring.capacity()].load(std::memory_order_relaxed);
    if (value <= last) break;  // not written since it was consumed (R4)
    left.missing += static_cast<std::int64_t>(value - last - 1);
    last = value;
    ++left.ticks;
    if (value <= warmup) ++left.warmup_ticks;
  }
  left.last = static_cast<std::int64_t>(last) - 1;
  return left;
}

Session::Left Session::left() const {
  Left left = left_in(ring());
  const auto add = [&](const Ring& other) {
    const Left more = left_in(other);
    left.ticks += more.ticks;
    left.warmup_ticks += more.warmup_ticks;
    left.missing += more.missing;
    left.last = std::max(left.last, more.last);
  };
  if (relay_) {
    add(rings_.front());
  } else {
    std::for_each(rings_.begin() + 1, rings_.end(), add);
  }
  return left;
}

ap_source_account Session::account() const {
  const SourceAccount& source = source_.account();
  const Left left = this->left();
  ap_source_account account{};
  account.generated = source.generated;
  account.lost = source.lost;
  account.left = left.ticks;
  account.warmup_generated = source.warmup_generated;
  account.warmup_lost = source.warmup_lost;
  account.warmup_left = left.warmup_ticks;
  account.pushed = source.pushed;
  account.last_pushed = source.last_pushed;
  account.t0_ns = source.t0_ns;
  account.end_ns = source.end_ns;
  account.slip_total_ns = source.slip_total_ns;
  account.cpu_ns = source.cpu_ns;
  account.clock_drift_ppm = source.clock_drift_ppm;
  account.clock_max_error_ns = source.clock_max_error_ns;
  account.clock_is_tsc = source.is_tsc ? 1 : 0;
  account.pinned = source.pinned ? 1 : 0;
  account.processor = source.processor;
  account.moves = source.moves;
  return account;
}

ap_ring_account Session::ring_account(std::int64_t number) const {
  const Ring& ring = this->ring(number);
  const auto place = static_cast<std::size_t>(number);
  if (place >= source_.by_ring().size()) throw UserError("the source was not started, or is running");
  const RingAccount& source = source_.by_ring()[place];
  const Left left = rings() == 1 ? this->left() : left_in(ring);
  ap_ring_account account{};
  account.generated = source.generated;
  account.received = static_cast<std::int64_t>(ring.header().consumed.load(std::memory_order_acquire));
  account.lost = source.lost;
  account.left = left.ticks;
  account.warmup_generated = source.warmup_generated;
  account.warmup_lost = source.warmup_lost;
  account.warmup_left = left.warmup_ticks;
  return account;
}

// Numbers that a consumer misses may have gone to another ring, so that losses are no gaps: what each ring should have been
// given is a matter of arithmetic instead.
std::string Session::audit_by_flow(const ap_consumption& consumption) const {
  const ap_source_account source = account();
  std::vector<std::int64_t> due(rings_.size());
  const auto generated = static_cast<std::uint64_t>(source.generated);
  for (std::uint64_t sequence = 0; sequence < generated;) {
    const std::uint64_t end = train_end(sequence, generated);
    due[static_cast<std::size_t>(ring_of(flow_seed_, sequence / kTrain, static_cast<int>(rings())))] +=
        static_cast<std::int64_t>(end - sequence);
    sequence = end;
  }
  ap_ring_account sum{};
  for (std::int64_t number = 0; number < rings(); ++number) {
    const ap_ring_account ring = ring_account(number);
    const std::string name = "ring " + std::to_string(number) + ": ";
    const std::int64_t flows = due[static_cast<std::size_t>(number)];
    if (ring.generated != flows) return name + differ("generated", ring.generated, "what its flows have", flows);
    if (ring.generated != ring.received + ring.lost + ring.left) {
      return name + differ("generated", ring.generated, "received + lost + left", ring.received + ring.lost + ring.left);
    }
    sum.received += ring.received;
    sum.lost += ring.lost;
    sum.warmup_generated += ring.warmup_generated;
    sum.warmup_lost += ring.warmup_lost;
    sum.warmup_left += ring.warmup_left;
  }
  if (sum.received != consumption.received) {
    return differ("published", sum.received, "received", consumption.received);
  }
  if (sum.lost != source.lost) return differ("lost by rings", sum.lost, "lost", source.lost);
  if (source.pushed != sum.received + source.left) {
    return differ("pushed", source.pushed, "received + left", sum.received + source.left);
  }
  if (sum.warmup_generated != consumption.warmup_received + sum.warmup_lost + sum.warmup_left) {
    return differ("generated in the warm-up", sum.warmup_generated, "received + lost + left",
                  consumption.warmup_received + sum.warmup_lost + sum.warmup_left);
  }
  return bursts_fault(source);
}

std::string Session::audit(const ap_consumption& consumption) const {
  if (rings() > 1) return audit_by_flow(consumption);
  const ap_source_account source = account();
  const Left left = this->left();
  const auto published = static_cast<std::int64_t>(ring().header().consumed.load(std::memory_order_acquire));
  if (published != consumption.received) return differ("published", published, "received", consumption.received);
  if (source.generated != consumption.received + source.lost + source.left) {
    return differ("generated", source.generated, "received + lost + left",
                  consumption.received + source.lost + source.left);
  }
  if (source.warmup_generated != consumption.warmup_received + source.warmup_lost + source.warmup_left) {
    return differ("generated in the warm-up", source.warmup_generated, "received + lost + left",
                  consumption.warmup_received + source.warmup_lost + source.warmup_left);
  }
  if (relay_) {
    const auto moved = static_cast<std::int64_t>(rings_.front().header().consumed.load(std::memory_order_acquire));
    const std::int64_t arrived = consumption.received + left_in(ring()).ticks;
    if (moved != arrived) return differ("moved to the intermediate queue", moved, "received + left in it", arrived);
  }
  if (source.pushed != consumption.received + left.ticks) {
    return differ("pushed", source.pushed, "received + left", consumption.received + left.ticks);
  }
  if (source.last_pushed != left.last) {
    return differ("the last tick pushed", source.last_pushed, "the last one seen", left.last);
  }
  const std::int64_t gaps = consumption.missing + left.missing + (source.generated - 1 - left.last);
  if (source.lost != gaps) return differ("lost", source.lost, "the gaps in the sequence", gaps);
  if (consumption.last_sequence >= source.warmup_generated && source.warmup_lost != consumption.warmup_missing) {
    return differ("lost in the warm-up", source.warmup_lost, "the gaps in its sequence", consumption.warmup_missing);
  }
  return bursts_fault(source);
}

std::string Session::bursts_fault(const ap_source_account& source) const {
  std::int64_t in_bursts = 0;
  for (std::size_t i = 0; i < source_.bursts().size(); ++i) in_bursts += source_.bursts().data()[i].count;
  if (source_.bursts().overflow() == 0 && in_bursts != source.lost) {
    return differ("lost", source.lost, "the sum of the bursts", in_bursts);
  }
  return {};
}

}  // namespace allocpool::realtime
