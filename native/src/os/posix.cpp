#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "os/clock.hpp"
#include "os/memory.hpp"
#include "os/thread.hpp"

namespace allocpool::os {

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::int64_t this_thread_cpu_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

std::uint64_t physical_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

MappedMemory::MappedMemory(std::size_t bytes)
    : bytes_(bytes), data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  if (data_ == MAP_FAILED) throw std::bad_alloc();
  std::memset(data_, 0, bytes_);
}

MappedMemory::~MappedMemory() { munmap(data_, bytes_); }

}  // namespace allocpool::os
