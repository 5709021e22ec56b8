#include "realtime/source.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "flows.hpp"
#include "os/thread.hpp"
#include "realtime/cpu.hpp"

namespace allocpool::realtime {
namespace {

constexpr std::int64_t kCalibrationNs = 20'000'000;
constexpr std::int64_t kSegmentNs = 100'000'000;  // between anchors of the clock, and between samples
constexpr std::int64_t kLeadNs = 20'000;          // from the consumer's being ready to tick 0
constexpr std::chrono::microseconds kNap(20);      // of a source that yields
constexpr int kTicksPerClockRead = 64;            // a long queue of late ticks must not look like a source stall

// A saturating source that found the ring full goes on when this part of it is free. Right behind the consumer the two
// would fight for the same lines.
constexpr std::int64_t kFreePart = 4;

// Due times in counter units, with 64 bits of fraction: stepping on does not add up errors within a segment.
__extension__ using Fixed = unsigned __int128;

Fixed fixed(double value) {
  const double whole = std::floor(value);
  // By way of a signed number: a due time may lie before the anchor.
  const auto high = static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
  return Fixed{high} << 64 | static_cast<std::uint64_t>((value - whole) * 0x1p64);
}

// Ticks that found the ring full. Losses without a tick between them, or within the gap of one another, are one
// burst: a source stall amid losses does not end it.
class Losses {
 public:
  Losses(Log<ap_burst>& log, const Timeline& timeline, std::int64_t gap_ns, std::int64_t warmup)
      : log_(log),
        timeline_(timeline),
        gap_units_(static_cast<double>(gap_ns) * timeline.units_per_ns()),
        warmup_(warmup) {}

  void add(std::int64_t tick, std::uint64_t now) {
    ++lost_;
    if (tick < warmup_) ++warmup_lost_;
    const bool near = tick == burst_.end_sequence + 1 || static_cast<double>(now - last_) <= gap_units_;
    const bool continues = burst_.count > 0 && near && (burst_.start_sequence < warmup_) == (tick < warmup_);
    if (!continues) {
      close();
      burst_ = {tick, tick, timeline_.to_ns(now), 0, 0};
    }
    burst_.end_sequence = tick;
    ++burst_.count;
    last_ = now;
  }

  void close() {
    if (burst_.count == 0) return;
    // The timeline may have been anchored anew since the burst began, a few nanoseconds to either side.
    burst_.end_ns = std::max(burst_.start_ns, timeline_.to_ns(last_));
    log_.add(burst_);
    burst_.count = 0;
  }

  std::int64_t lost() const { return lost_; }
  std::int64_t warmup_lost() const { return warmup_lost_; }

 private:
  Log<ap_burst>& log_;
  const Timeline& timeline_;
  const double gap_units_;
  const std::int64_t warmup_;
  ap_burst burst_{};
  std::uint64_t last_ = 0;
  std::int64_t lost_ = 0;
  std::int64_t warmup_lost_ = 0;
};

// When the source read its clock, and when it did not although it should have.
class Slips {
 public:
  Slips(Log<ap_slip>& log, const Timeline& timeline, std::int64_t threshold_ns, std::uint64_t now)
      : log_(log),
        timeline_(timeline),
        threshold_units_(static_cast<std::int64_t>(static_cast<double>(threshold_ns) * timeline.units_per_ns())),
        previous_(now) {}

  void look(std::uint64_t now) {
    if (static_cast<std::int64_t>(now - previous_) > threshold_units_) record(now);
    previous_ = now;
  }

  std::int64_t total_ns() const { return total_ns_; }

 private:
  void record(std::uint64_t now) {
    const std::int64_t start_ns = timeline_.to_ns(previous_);
    const std::int64_t length_ns = timeline_.to_ns(now) - start_ns;
    log_.add({start_ns, length_ns});
    total_ns_ += length_ns;
  }

  Log<ap_slip>& log_;
  const Timeline& timeline_;
  const std::int64_t threshold_units_;
  std::uint64_t previous_;
  std::int64_t total_ns_ = 0;
};

// What a hint to the processor takes, in counter units: the shortest of some, since any may be interrupted.
template <class Counter>
std::uint64_t relax_units() {
  constexpr int kRounds = 16;
  constexpr std::uint64_t kHints = 64;
  std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t begin = Counter::read();
    for (std::uint64_t hint = 0; hint < kHints; ++hint) cpu_relax();
    shortest = std::min(shortest, (Counter::read() - begin) / kHints + 1);
  }
  return shortest;
}

// Due times between two anchors of the clock.
class Schedule {
 public:
  Schedule(const Timeline& timeline, std::int64_t t0_ns, double interval_ns, std::int64_t tick)
      : step_(fixed(interval_ns * timeline.units_per_ns())) {
    // Whole nanoseconds apart from the fraction, which a double of the sum would lose after some hours.
    const double since_ns = static_cast<double>(tick) * interval_ns;
    const double whole_ns = std::floor(since_ns);
    const double units = timeline.units_after_anchor(t0_ns + static_cast<std::int64_t>(whole_ns), since_ns - whole_ns);
    due_ = (Fixed{timeline.anchor_units()} << 64) + fixed(units);
  }

  bool is_due(std::uint64_t now) const { return static_cast<std::uint64_t>(due_ >> 64) <= now; }
  void advance() { due_ += step_; }

 private:
  const Fixed step_;
  Fixed due_;
};

// All ticks into one ring.
class OneRing {
 public:
  OneRing(const std::vector<Ring>& rings, std::uint64_t, std::int64_t) : writer_(rings.front()) {}

  RingWriter& writer() { return writer_; }
  [[nodiscard]] bool offer(std::int64_t tick) { return writer_.offer(tick); }
  std::int64_t pushed() const { return writer_.pushed(); }
  std::vector<RingAccount> by_ring(const SourceAccount& all) const {
    return {{all.generated, all.lost, all.warmup_generated, all.warmup_lost}};
  }

 private:
  RingWriter writer_;
};

// Each tick into the ring of its flow, with counters for each.
class RingsByFlow {
 public:
  RingsByFlow(const std::vector<Ring>& rings, std::uint64_t seed, std::int64_t warmup)
      : writers_(rings.begin(), rings.end()), counters_(rings.size()), seed_(seed), warmup_(warmup) {}

  [[nodiscard]] bool offer(std::int64_t tick) {
    const std::uint64_t train = static_cast<std::uint64_t>(tick) / kTrain;
    if (train != train_) {
      train_ = train;
      ring_ = static_cast<std::size_t>(ring_of(seed_, train, static_cast<int>(writers_.size())));
    }
    RingAccount& counters = counters_[ring_];
    const bool warms_up = tick < warmup_;
    ++counters.generated;
    if (warms_up) ++counters.warmup_generated;
    if (writers_[ring_].offer(tick)) return true;
    ++counters.lost;
    if (warms_up) ++counters.warmup_lost;
    return false;
  }

  std::int64_t pushed() const {
    std::int64_t pushed = 0;
    for (const RingWriter& writer : writers_) pushed += writer.pushed();
    return pushed;
  }
  std::vector<RingAccount> by_ring(const SourceAccount&) const { return counters_; }

 private:
  std::vector<RingWriter> writers_;
  std::vector<RingAccount> counters_;
  const std::uint64_t seed_;
  const std::int64_t warmup_;
  std::uint64_t train_ = std::numeric_limits<std::uint64_t>::max();
  std::size_t ring_ = 0;
};

}  // namespace

Source::Source(std::vector<Ring> rings, std::uint64_t flow_seed, std::size_t max_bursts, std::size_t max_slips,
               std::size_t max_samples)
    : rings_(std::move(rings)), flow_seed_(flow_seed), bursts_(max_bursts), slips_(max_slips), samples_(max_samples) {}

Source::~Source() { stop(); }

void Source::start(const SourceConfig& config) {
  config_ = config;
  account_ = {};
  by_ring_.clear();
  bursts_.clear();
  slips_.clear();
  samples_.clear();
  stop_.store(false);
  for (const Ring& ring : rings_) {
    RingHeader& header = ring.header();
    header.interval_ns.store(config.interval_ns);
    header.warmup.store(static_cast<std::uint64_t>(config.warmup_ticks));
    header.ticks.store(static_cast<std::uint64_t>(config.ticks));
    header.state.store(RingHeader::kWaiting, std::memory_order_release);
  }
#if defined(ALLOCPOOL_HAS_TSC)
  if (config.use_tsc) {
    thread_ = std::thread(&Source::run_with<TscCounter>, this);
    return;
  }
#endif
  thread_ = std::thread(&Source::run_with<MonotonicCounter>, this);
}

template <class Counter>
void Source::run_with() {
  if (rings_.size() == 1) {
    run<Counter, OneRing>();
  } else {
    run<Counter, RingsByFlow>();
  }
}

void Source::wait() {
  if (thread_.joinable()) thread_.join();
}

void Source::stop() {
  stop_.store(true);
  wait();
}

template <class Counter, class Outlet>
void Source::run() {
  os::name_this_thread("ap-source");
  if (config_.processor >= 0) account_.pinned = os::pin_to_processor(config_.processor);
  for (const Ring& ring : rings_) {
    while (ring.header().ready.load(std::memory_order_acquire) == 0 && !stop_.load(std::memory_order_relaxed)) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  Timeline timeline(Counter::read, kCalibrationNs);
  const std::int64_t t0_ns = os::monotonic_ns() + kLeadNs;
  for (const Ring& ring : rings_) {
    ring.header().t0_ns.store(t0_ns, std::memory_order_relaxed);
    ring.header().state.store(RingHeader::kRunning, std::memory_order_release);
  }

  Outlet outlet(rings_, flow_seed_, config_.warmup_ticks);
  Losses losses(bursts_, timeline, config_.burst_gap_ns, config_.warmup_ticks);
  Slips slips(slips_, timeline, config_.slip_threshold_ns, Counter::read());
  const std::int64_t ticks = config_.ticks;
  std::int64_t next = 0;
  std::int64_t last_pushed = RingReader::kNone;
  std::uint64_t now = Counter::read();
  // A hint leaves the core to its other hardware thread, but ends when it will: none where a tick is due before.
  const std::uint64_t far_units = 2 * relax_units<Counter>();

  const auto goes_on = [&](std::uint64_t segment_end) {
    now = Counter::read();
    slips.look(now);
    return now < segment_end && next < ticks && !stop_.load(std::memory_order_relaxed);
  };
  const auto pace = [&](std::uint64_t segment_end) {
    Schedule schedule(timeline, t0_ns, config_.interval_ns, next);
    while (goes_on(segment_end)) {
      const std::int64_t end = std::min(ticks, next + kTicksPerClockRead);
      for (; next < end && schedule.is_due(now); ++next, schedule.advance()) {
        if (outlet.offer(next)) {
          last_pushed = next;
        } else {
          losses.add(next, now);
        }
      }
      if (schedule.is_due(now + far_units)) continue;
      if (config_.yields) {
        std::this_thread::sleep_for(kNap);
      } else {
        cpu_relax();
      }
    }
  };
  const auto saturate = [&](std::uint64_t segment_end, RingWriter& writer) {
    const std::int64_t batch = std::min<std::int64_t>(kTicksPerClockRead, rings_.front().capacity());
    const std::int64_t enough_room = std::max(batch, rings_.front().capacity() / kFreePart);
    while (goes_on(segment_end)) {
      if (writer.known_room() < batch && writer.room() < enough_room) {
        cpu_relax();
        continue;
      }
      for (const std::int64_t end = std::min(ticks, next + batch); next < end; ++next) writer.push(next);
    }
    last_pushed = next - 1;
  };

  while (next < ticks && !stop_.load(std::memory_order_relaxed)) {
    timeline.anchor();
    const int processor = os::current_processor();
    if (processor != account_.processor && account_.processor >= 0) ++account_.moves;
    account_.processor = processor;
    samples_.add({timeline.to_ns(now), next, losses.lost()});
    const auto segment_end =
        now + static_cast<std::uint64_t>(static_cast<double>(kSegmentNs) * timeline.units_per_ns());
    if constexpr (std::is_same_v<Outlet, OneRing>) {
      if (config_.interval_ns == 0) {
        saturate(segment_end, outlet.writer());
        continue;
      }
    }
    pace(segment_end);
  }

  account_.end_ns = os::monotonic_ns();
  for (const Ring& ring : rings_) ring.header().state.store(RingHeader::kFinished, std::memory_order_release);
  losses.close();
  samples_.add({account_.end_ns, next, losses.lost()});
  account_.generated = next;
  account_.lost = losses.lost();
  account_.warmup_generated = std::min(next, config_.warmup_ticks);
  account_.warmup_lost = losses.warmup_lost();
  account_.pushed = outlet.pushed();
  account_.last_pushed = last_pushed;
  account_.t0_ns = t0_ns;
  account_.slip_total_ns = slips.total_ns();
  account_.cpu_ns = os::this_thread_cpu_ns();
  account_.is_tsc = config_.use_tsc;
  account_.clock_drift_ppm = timeline.drift_ppm();
  account_.clock_max_error_ns = timeline.max_error_ns();
  by_ring_ = outlet.by_ring(account_);
}

}  // namespace allocpool::realtime
