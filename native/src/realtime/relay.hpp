// The intermediate queue: a thread that takes ticks out of the input queue into a longer ring, from which the consumer
// takes them. For hardware whose own queue is short: this thread does nothing else and no collector ever stops it, so
// the input queue needs to last only from one of its looks to the next.
//
// It takes no more than there is room for, so it never holds a tick itself and loses none: when the longer ring is full
// the input queue fills, and the source counts what is lost there, as it does without a relay.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "os/memory.hpp"
#include "realtime/ring.hpp"

namespace allocpool::realtime {

class Relay {
 public:
  // Room for `capacity` ticks, out of a ring of the source.
  Relay(const Ring& input, std::int64_t capacity);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Begins a run, once the source was started. Looks into the input queue every `look_ns`.
  void start(std::int64_t look_ns);

  // To be called once the source has ended: leaves what does not fit in the input queue, and returns when all is still.
  void stop();

  const os::MappedMemory& memory() const { return memory_; }
  const Ring& ring() const { return ring_; }

 private:
  void run();
  // Moves what there is and fits; how many ticks that were.
  std::int64_t move(RingReader& reader, RingWriter& writer, std::int64_t& last);

  const Ring input_;
  const std::int64_t capacity_;
  os::MappedMemory memory_;
  Ring ring_;
  std::int64_t look_ns_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace allocpool::realtime
