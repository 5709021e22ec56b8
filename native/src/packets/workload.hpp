// What the outside knows of a processor, whatever its layout and strategy.
#pragma once

#include <cstdint>
#include <string>

#include "allocpool.h"
#include "realtime/consumer.hpp"

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

  // Receives what the consumer takes from its ring; see Consumer::run.
  virtual ap_consumption consume(realtime::Consumer& consumer, std::int64_t max_ticks) = 0;

  virtual ap_packets_counts counts() const = 0;
  virtual std::uint64_t checksum() const = 0;
  virtual ap_region region() const = 0;

  // Empty, or one line that says what is wrong.
  virtual std::string audit() const = 0;
};

}  // namespace allocpool
