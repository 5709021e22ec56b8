// Memory as the operating system gives it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allocpool::os {

// Memory of the machine in bytes.
std::uint64_t physical_memory_bytes();

// Zeroed, page-aligned memory whose pages are all there before it is used: a page fault in the source's loop would be a
// stall of its clock. Throws std::bad_alloc.
class MappedMemory {
 public:
  explicit MappedMemory(std::size_t bytes);
  ~MappedMemory();
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* data_;
};

}  // namespace allocpool::os
