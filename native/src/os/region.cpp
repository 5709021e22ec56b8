#include "os/region.hpp"

#include <sys/mman.h>

#include <new>

namespace allocpool::os {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSmallestPage = 4096;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

Region::Region(std::size_t bytes, bool huge_pages) : bytes_(rounded_up(bytes, kHugePage)) {
#ifdef MAP_HUGETLB
  if (huge_pages) data_ = map(bytes_, MAP_HUGETLB);
#endif
  if (data_ == nullptr) {
    std::uint8_t* const start = map(bytes_ + kHugePage, 0);
    if (start == nullptr) throw std::bad_alloc();
    data_ = start + (kHugePage - reinterpret_cast<std::uintptr_t>(start) % kHugePage) % kHugePage;
#ifdef MADV_HUGEPAGE
    // Where the kernel gives transparent huge pages unasked, the step must be taken back to be a step.
    madvise(data_, bytes_, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
  }
  for (std::size_t at = 0; at < bytes_; at += kSmallestPage) static_cast<volatile std::uint8_t*>(data_)[at] = 0;
}

Region::~Region() { munmap(mapped_, mapped_bytes_); }

std::uint8_t* Region::map(std::size_t bytes, int flags) {
  void* const got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  mapped_ = got;
  mapped_bytes_ = bytes;
  return static_cast<std::uint8_t*>(got);
}

}  // namespace allocpool::os
