// One ring with its source, and what its consumers measured: checks what the user asks for, and checks the books after.
#pragma once

#include <cstdint>
#include <string>

#include "allocpool.h"
#include "os/memory.hpp"
#include "realtime/histogram.hpp"
#include "realtime/ring.hpp"
#include "realtime/source.hpp"

namespace allocpool::realtime {

// Throws UserError when the queue holds no tick or more than a ring can.
std::int64_t capacity_of(double input_queue_ms, double interval_ns);

class Session {
 public:
  struct Limits {
    std::int64_t capacity;
    std::int64_t bursts;
    std::int64_t slips;
    std::int64_t samples;
  };

  // Throws UserError for limits out of bounds.
  explicit Session(const Limits& limits);

  // Throws UserError for a configuration out of bounds, or when the source is running.
  void start(const ap_source_config& config);

  // Throws UserError when the source was not started or the run has been consumed.
  void begin_consuming();

  const os::MappedMemory& memory() const { return memory_; }
  const Ring& ring() const { return ring_; }
  Source& source() { return source_; }
  const Source& source() const { return source_; }
  DelayHistogram& delays() { return delays_; }
  const DelayHistogram& delays() const { return delays_; }

  ap_source_account account() const;

  // Empty, or one line that says what does not agree.
  [[nodiscard]] std::string audit(const ap_consumption& consumption) const;

 private:
  // What is in the ring from where the consumer left.
  struct Left {
    std::int64_t ticks = 0;
    std::int64_t warmup_ticks = 0;
    std::int64_t last = RingReader::kNone;  // number of the last tick that was seen, by the consumer or here
    std::int64_t missing = 0;               // numbers skipped between the consumer's last one and `last`
  };

  Left left() const;

  const std::int64_t max_capacity_;
  os::MappedMemory memory_;
  Ring ring_;
  Source source_;
  DelayHistogram delays_;
};

}  // namespace allocpool::realtime
