#include "buffers/class_slab.hpp"

#include <sys/mman.h>

#include <new>

namespace allocpool::buffers {
namespace {

constexpr std::size_t kSmallest = 16;
constexpr std::size_t kHeader = 64;
constexpr std::size_t kSteps = 4;
constexpr std::size_t kClasses = 4 * 15;

}  // namespace

ClassSlab::ClassSlab(std::size_t reserved_bytes)
    : capacity_(reserved_bytes / kSlabBytes), open_(kClasses, nullptr) {
  empty_.reserve(capacity_);
  mapping_bytes_ = (capacity_ + 1) * kSlabBytes;
  mapping_ = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  base_ = static_cast<char*>(mapping_) + (kSlabBytes - address % kSlabBytes) % kSlabBytes;
}

ClassSlab::~ClassSlab() { munmap(mapping_, mapping_bytes_); }

// 16, 32, 48, 64, then four classes to each doubling.
std::size_t ClassSlab::class_of(std::size_t bytes) {
  if (bytes <= kSmallest * kSteps) return (bytes + kSmallest - 1) / kSmallest - 1;
  const auto last = static_cast<std::size_t>(63 - __builtin_clzll(bytes - 1));  // the power of two below
  const std::size_t step = std::size_t{1} << (last - 2);
  return (last - 6) * kSteps + kSteps + (bytes - 1 - (std::size_t{1} << last)) / step;
}

std::size_t ClassSlab::bytes_of(std::size_t size_class) {
  if (size_class < kSteps) return (size_class + 1) * kSmallest;
  const std::size_t last = size_class / kSteps + 5;
  return (std::size_t{1} << last) + (size_class % kSteps + 1) * (std::size_t{1} << (last - 2));
}

std::size_t ClassSlab::block_bytes(std::size_t bytes) { return bytes_of(class_of(bytes)); }

std::size_t ClassSlab::blocks_of(std::size_t size_class) { return (kSlabBytes - kHeader) / bytes_of(size_class); }

char* ClassSlab::block(Slab* slab, std::size_t number) {
  return reinterpret_cast<char*>(slab) + kHeader + number * bytes_of(slab->size_class);
}

void* ClassSlab::obtain(std::size_t bytes) {
  static_assert(sizeof(Slab) <= kHeader, "a slab's header stands before its first block");
  const std::size_t size_class = class_of(bytes);
  Slab* slab = open_[size_class];
  if (slab == nullptr) slab = fresh(size_class);
  void* found;
  if (slab->free != nullptr) {
    found = slab->free;
    slab->free = slab->free->next;
  } else {
    found = block(slab, blocks_of(size_class) - slab->untouched--);
  }
  ++slab->used;
  if (slab->free == nullptr && slab->untouched == 0) unlink(slab);
  return found;
}

void ClassSlab::release(void* buffer) {
  auto* const slab = reinterpret_cast<Slab*>(reinterpret_cast<std::uintptr_t>(buffer) & ~(kSlabBytes - 1));
  const bool was_full = slab->free == nullptr && slab->untouched == 0;
  auto* const freed = static_cast<Free*>(buffer);
  freed->next = slab->free;
  slab->free = freed;
  --slab->used;
  if (was_full) link(slab);
  if (slab->used == 0) {
    unlink(slab);
    empty_.push_back(slab);
  }
}

ClassSlab::Slab* ClassSlab::fresh(std::size_t size_class) {
  Slab* slab;
  if (!empty_.empty()) {
    slab = empty_.back();
    empty_.pop_back();
  } else {
    if (taken_ == capacity_) throw std::bad_alloc();
    slab = reinterpret_cast<Slab*>(base_ + taken_++ * kSlabBytes);
  }
  *slab = {nullptr, nullptr, nullptr, size_class, 0, blocks_of(size_class)};
  link(slab);
  return slab;
}

void ClassSlab::link(Slab* slab) {
  Slab*& first = open_[slab->size_class];
  slab->previous = nullptr;
  slab->next = first;
  if (first != nullptr) first->previous = slab;
  first = slab;
}

void ClassSlab::unlink(Slab* slab) {
  if (slab->previous != nullptr) {
    slab->previous->next = slab->next;
  } else {
    open_[slab->size_class] = slab->next;
  }
  if (slab->next != nullptr) slab->next->previous = slab->previous;
}

}  // namespace allocpool::buffers
