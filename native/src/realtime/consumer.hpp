// The consumer: takes ticks out of the ring in bursts for whoever works on them, and keeps its own account of what is
// missing.
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

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocpool.h"
#include "bursts.hpp"
#include "realtime/histogram.hpp"
#include "realtime/ring.hpp"

namespace allocpool::realtime {

// A stop of the consumer, on purpose: from the first batch at or after t0 + at_ns, for length_ns. 0: none.
struct ForcedStall {
  std::int64_t at_ns = 0;
  std::int64_t length_ns = 0;
};

// One run of a source. The bursts end when it has finished and the ring is empty, or when `max_ticks` were taken.
class Consumer final : public Bursts {
 public:
  static constexpr std::int64_t kGroupNs = 64;
  static constexpr std::int64_t kBatch = 16;            // most ticks per reading of the clock, when each has a delay,
  static constexpr std::int64_t kLateBatch = 64;        // when the last one was longer than kLateNs,
  static constexpr std::int64_t kSaturatedBatch = 256;  // and when the source saturates
  static constexpr std::int64_t kLateNs = 4'000'000;
  static constexpr std::int64_t kQueueParts = 256;

  // Tells a source that has been started that its consumer is ready, and waits until it ticks. `max_ticks` 0: no limit.
  // `yields`: it lets others run while there is no tick.
  Consumer(const Ring& ring, DelayHistogram& delays, std::int64_t max_ticks = 0, const ForcedStall& stall = {},
           bool yields = false);

  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  Burst next() override;

  // Complete once next() has come to the end.
  const ap_consumption& account() const { return account_; }

 private:
  void account_for(std::size_t taken);
  void miss(const std::int64_t* batch, std::size_t taken);
  void record_delays(const std::int64_t* batch, std::size_t count, std::int64_t now_ns);
  std::int64_t delay_ns(std::int64_t tick, std::int64_t now_ns) const;
  void stall(std::int64_t now_ns);
  void rest() const;

  const Ring ring_;
  RingReader reader_;
  DelayHistogram& delays_;
  ForcedStall stall_;
  const std::int64_t limit_;
  const std::int64_t most_;
  const bool yields_;
  ap_consumption account_{};
  std::int64_t warmup_ = 0;
  std::int64_t t0_ns_ = 0;
  double interval_ns_ = 0;
  std::int64_t group_ticks_ = 1;
  bool late_ = false;
  bool finished_ = false;
  std::size_t in_hand_ = 0;
  std::array<std::int64_t, kSaturatedBatch> batch_;
};

}  // namespace allocpool::realtime
