// Buffers of mixed sizes come and go while the bytes alive stay constant: before a new one is made, others drawn at
// random are dropped until it fits. Sizes and victims are a pure function of seed and operation, so that every allocator
// and Java's `allocpool.allocation.Fragmentation` see the same requests and end with the same checksum.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "allocpool.h"

namespace allocpool::buffers {

class Fragmentation {
 public:
  virtual ~Fragmentation() = default;

  // One phase; see ap_fragmentation_run.
  virtual std::int64_t run(const ap_phase& phase, std::int64_t number, ap_fragment_sample* out,
                           std::int64_t capacity) = 0;

  // Over the tags of all buffers that were dropped or are alive; changes nothing.
  virtual std::uint64_t checksum() const = 0;

  // The line that says what is wrong with the live buffers, or nothing.
  virtual std::string audit() const = 0;
};

// Throws UserError for an unknown technique.
std::unique_ptr<Fragmentation> make_fragmentation(const std::string& technique, std::int64_t max_buffers,
                                                  std::int64_t reserved_bytes, std::uint64_t seed);

}  // namespace allocpool::buffers
