#include "os/allocator.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#if defined(__APPLE__)
#include <malloc/malloc.h>
#else
#include <malloc.h>
#endif

namespace allocpool::os {
namespace {

template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

using Mallctl = int(const char*, void*, std::size_t*, void*, std::size_t);
using TcProperty = int(const char*, std::size_t*);

// What mimalloc reports of each area of a heap (mimalloc.h, versions 1 to 3).
struct MiArea {
  void* blocks;
  std::size_t reserved;
  std::size_t committed;
  std::size_t used;
  std::size_t block_size;
};
using MiVisitor = bool(const void* heap, const MiArea* area, void* block, std::size_t block_size, void* argument);
using MiVisit = bool(const void* heap, bool visit_all_blocks, MiVisitor* visitor, void* argument);
using MiHeap = void*();

bool add_area(const void*, const MiArea* area, void*, std::size_t, void* argument) {
  *static_cast<std::int64_t*>(argument) += static_cast<std::int64_t>(area->used * area->block_size);
  return true;
}

std::int64_t jemalloc_bytes(Mallctl* mallctl) {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::size_t size = sizeof in;
  if (mallctl("thread.allocated", &in, &size, nullptr, 0) != 0) return -1;
  if (mallctl("thread.deallocated", &out, &size, nullptr, 0) != 0) return -1;
  return static_cast<std::int64_t>(in - out);
}

std::int64_t told_bytes() {
  if (auto* mallctl = find<Mallctl>("mallctl")) return jemalloc_bytes(mallctl);
  if (auto* property = find<TcProperty>("MallocExtension_GetNumericProperty")) {
    std::size_t value = 0;
    return property("generic.current_allocated_bytes", &value) != 0 ? static_cast<std::int64_t>(value) : -1;
  }
  auto* const visit = find<MiVisit>("mi_heap_visit_blocks");
  auto* heap = find<MiHeap>("mi_heap_get_default");
  if (heap == nullptr) heap = find<MiHeap>("mi_heap_main");  // version 3
  if (heap != nullptr && visit != nullptr) {
    std::int64_t bytes = 0;
    visit(heap(), false, add_area, &bytes);
    return bytes;
  }
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
#else
  return -1;
#endif
}

// A sanitizer stands in the allocator's place and leaves its counters empty: counters that miss one large block show nothing.
bool counters_are_kept() {
  constexpr std::size_t kProbeBytes = 100'000;
  const std::int64_t before = told_bytes();
  void* volatile probe = std::malloc(kProbeBytes);
  const std::int64_t after = told_bytes();
  std::free(probe);
  return before >= 0 && after - before >= static_cast<std::int64_t>(kProbeBytes);
}

}  // namespace

std::size_t usable_bytes(void* pointer) {
#if defined(__APPLE__)
  return malloc_size(pointer);
#else
  return malloc_usable_size(pointer);
#endif
}

std::int64_t allocated_bytes() {
  static const bool kept = counters_are_kept();
  return kept ? told_bytes() : -1;
}

std::int64_t resident_bytes() {
  char text[64] = "";
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  long long total = 0;
  long long resident = 0;
  if (length <= 0 || std::sscanf(text, "%lld %lld", &total, &resident) != 2) return -1;
  return static_cast<std::int64_t>(resident) * sysconf(_SC_PAGESIZE);
}

}  // namespace allocpool::os
