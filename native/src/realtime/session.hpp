// One ring with its source, and what its consumers measured: checks what the user asks for, and checks the counters after.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "allocpool.h"
#include "os/memory.hpp"
#include "realtime/histogram.hpp"
#include "realtime/relay.hpp"
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
    std::int64_t rings = 1;        // several: ticks are divided between them by the hash of their flow
    std::uint64_t flow_seed = 0;
  };

  // Throws UserError for limits out of bounds.
  explicit Session(const Limits& limits);

  // From the next run on an intermediate queue of so many ticks lies between input queue and consumer; 0: none. The
  // consumer's ring and its memory are then other ones. Throws UserError out of bounds, or when the source is running.
  void set_intermediate(std::int64_t capacity);

  // Throws UserError for a configuration out of bounds, or when the source is running.
  void start(const ap_source_config& config);

  // Throws UserError when the source was not started or the run has been consumed.
  void begin_consuming();

  // Blocks until all ticks are generated, and what the consumer did not take lies still.
  void wait();

  // The same, and ends generating now.
  void stop();

  // The ring that a consumer takes ticks out of, the first or that of a number. Throws UserError where there is none.
  const os::MappedMemory& memory(std::int64_t ring = 0) const;
  const Ring& ring(std::int64_t ring = 0) const;
  std::int64_t rings() const { return static_cast<std::int64_t>(rings_.size()); }
  Source& source() { return source_; }
  const Source& source() const { return source_; }
  DelayHistogram& delays() { return delays_; }
  const DelayHistogram& delays() const { return delays_; }

  ap_source_account account() const;

  // Of one ring, as its consumer and the slots left in it show, apart from the source.
  ap_ring_account ring_account(std::int64_t ring) const;

  // Empty, or one line that says what does not agree.
  [[nodiscard]] std::string audit(const ap_consumption& consumption) const;

 private:
  // What is in a ring, or in both one after the other, from where the consumer left.
  struct Left {
    std::int64_t ticks = 0;
    std::int64_t warmup_ticks = 0;
    std::int64_t last = RingReader::kNone;  // number of the last tick that was seen, by the consumer or here
    std::int64_t missing = 0;               // numbers skipped between the consumer's last one and `last`
  };

  static Left left_in(const Ring& ring);
  Left left() const;

  std::string audit_by_flow(const ap_consumption& consumption) const;
  std::string bursts_fault(const ap_source_account& source) const;

  const std::int64_t max_capacity_;
  const std::uint64_t flow_seed_;
  std::deque<os::MappedMemory> memories_;
  std::vector<Ring> rings_;
  Source source_;
  std::unique_ptr<Relay> relay_;  // goes before the ring and the source that it reads from
  DelayHistogram delays_;
};

}  // namespace allocpool::realtime
