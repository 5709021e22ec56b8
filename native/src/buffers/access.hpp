// Passes over one buffer: write every byte in order, write as many bytes at random, or copy it as a whole. Java's
// `allocpool.allocation.Access` does the same, byte by byte, and must end with the same checksum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocpool.h"

namespace allocpool::buffers {

class Access {
 public:
  // Throws UserError for an unknown operation.
  Access(const std::string& operation, std::size_t bytes);

  // Passes until the time has passed; see ap_access_run.
  std::int64_t run(std::int64_t duration_ns, std::int64_t iteration_ns, ap_buffers_iteration* out,
                   std::int64_t capacity);

  // The content after exactly so many passes over zeroed memory.
  std::uint64_t checksum_after(std::int64_t passes);

 private:
  using Pass = void (*)(std::uint8_t* target, std::uint8_t* source, std::size_t bytes, std::uint64_t pass);

  Pass pass_;
  std::vector<std::uint8_t> target_;
  std::vector<std::uint8_t> source_;
  std::uint64_t passes_ = 0;
};

}  // namespace allocpool::buffers
