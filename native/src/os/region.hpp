// One region of memory straight from the kernel, on huge pages where it grants them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allocpool::os {

// Anonymous memory, zeroed, aligned to 2 MiB, with every page there before it is used. Huge pages are asked for twice:
// reserved ones (MAP_HUGETLB), then transparent ones (madvise). What came of it only the kernel knows: /proc/self/smaps.
class Region {
 public:
  // Throws std::bad_alloc.
  Region(std::size_t bytes, bool huge_pages);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  std::uint8_t* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::uint8_t* map(std::size_t bytes, int flags);

  std::size_t bytes_;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::uint8_t* data_ = nullptr;
};

}  // namespace allocpool::os
