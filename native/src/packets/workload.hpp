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

  // Empty, or one line that says what is wrong.
  [[nodiscard]] virtual std::string audit() const = 0;
};

}  // namespace allocpool
