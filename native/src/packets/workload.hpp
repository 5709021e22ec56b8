// What the outside knows of a processor, whatever its layout, strategy and memory.
#pragma once

#include <cstdint>
#include <string>

#include "allocpool.h"
#include "bursts.hpp"

namespace allocpool {

struct Sizes {
  std::int64_t pool_size;
  std::int64_t queue_size;
  std::int64_t stored_count;
};

// What is asked of a workload besides its layout, strategy and memory.
struct Settings {
  Sizes sizes;
  std::uint64_t seed;
  const char* steps = nullptr;  // comma-separated; null: the layout's own
  bool aged = false;            // packets lie in the order that long use brings about
  bool fifo = false;            // the pool hands out first what came back first
  bool payload_touch = false;   // the payload is written and read
};

// The packets that a strategy starts with.
struct Stock {
  std::int64_t pool_size;  // that wait in a pool
  std::int64_t prepared;   // made before the start: at least those
  bool aged;
  std::uint64_t seed;
};

// What is known of all packets at one moment, each by counting it.
struct Counters {
  ap_packets_counts counts;
  std::int64_t prepared;
  std::int64_t pooled;
  std::int64_t queued;
  std::int64_t queued_parsed;
  std::int64_t stored;
  std::int64_t stored_parsed;
  std::int64_t malformed;
};

// Empty, or one line on what does not agree. `shared`: one packet stands for all of them.
[[nodiscard]] std::string fault_of(const Counters& counters, bool shared);

class Workload {
 public:
  virtual ~Workload() = default;

  // Receives the next `count` packets of the sequence.
  virtual void run(std::int64_t count) = 0;

  // Receives the packets whose numbers the bursts bring, until they end.
  virtual void receive(Bursts& bursts) = 0;

  virtual ap_packets_counts counts() const = 0;
  virtual std::uint64_t checksum() const = 0;
  virtual ap_region region() const = 0;

  // The mean distance in memory of packets that the FIFO yields one after the other, of a sample; -1 where there are none.
  virtual double disorder_bytes() const = 0;

  // Empty, or one line that says what is wrong.
  [[nodiscard]] virtual std::string audit() const = 0;
};

}  // namespace allocpool
