#include "allocation_counter.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::int64_t> counted{0};
std::atomic<std::int64_t> counted_bytes{0};
}  // namespace

namespace allocpool::test {
std::int64_t allocations() { return counted.load(std::memory_order_relaxed); }
std::int64_t allocated_bytes() { return counted_bytes.load(std::memory_order_relaxed); }
}  // namespace allocpool::test

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  counted.fetch_add(1, std::memory_order_relaxed);
  counted_bytes.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  return std::malloc(bytes);
}
void* operator new(std::size_t bytes) {
  if (void* const memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
