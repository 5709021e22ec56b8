// What the compiler calls at each access to memory under -fsanitize=thread, in place of ThreadSanitizer's own library: the
// access goes to the simulated cache of the thread. Source of the functions' names and meanings: LLVM, compiler-rt,
// tsan_interface.h and tsan_interface_atomic.h, which GCC follows.
//
// What is not compiled that way is not seen: the allocator, the kernel, and libraries. Of those that share memory or wait, the
// linker sends the calls here (--wrap): copies, mutexes, and giving up the processor.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "turns.hpp"

namespace allocpool::sharing {
namespace {

// What glibc and others write of a mutex that nobody waits for: the lock, its owner and counts.
constexpr std::size_t kMutexBytes = 16;

// The functions that this thread is in, by what they do.
struct Places {
  static constexpr int kDeepest = 512;
  std::array<Place, kDeepest> of;
  int depth = 0;

  Place now() const { return depth == 0 ? Place::other : of[static_cast<std::size_t>(std::min(depth, kDeepest) - 1)]; }
};
thread_local Places places;

// An identifier of a mangled name, "5Class", which is cut off it.
std::string_view identifier(std::string_view& mangled) {
  std::size_t length = 0;
  std::size_t digits = 0;
  for (; digits < mangled.size() && mangled[digits] >= '0' && mangled[digits] <= '9'; ++digits) {
    length = 10 * length + static_cast<std::size_t>(mangled[digits] - '0');
  }
  const std::string_view name = mangled.substr(digits, length);
  mangled.remove_prefix(std::min(mangled.size(), digits + length));
  return name;
}

bool ends_with(std::string_view name, std::string_view end) {
  return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
}

// What a function of that mangled name does, beginning with "_ZN" or "_ZNK"; `other` of all that says nothing.
Place place_of(std::string_view mangled) {
  if (mangled.substr(0, 3) != "_ZN") return Place::other;
  mangled.remove_prefix(mangled.substr(3, 1) == "K" ? 4 : 3);
  if (identifier(mangled) != "allocpool") return Place::other;
  std::string_view name = identifier(mangled);
  if (name == "threads") name = identifier(mangled);
  if (ends_with(name, "Pool")) return Place::pool;
  if (name == "SpscRing") return Place::ring;
  for (const std::string_view of_messages : {"Way", "fill", "hash", "has_marker", "write_header"}) {
    if (name == of_messages) return Place::message;
  }
  return ends_with(name, "Layout") ? Place::message : Place::other;
}

// What the function does that has this instruction: by the name that it is exported under. Asking takes long, so that answers
// are remembered, for all threads: only the one whose turn it is asks.
// In memory of its own: the heap's addresses are part of what is simulated.
Place place_at(const void* instruction) {
  struct Known {
    const void* instruction;
    Place place;
  };
  static std::array<Known, 8192> remembered{};
  std::size_t slot = (reinterpret_cast<std::uintptr_t>(instruction) * 0x9E3779B97F4A7C15ULL) >> 51;
  for (std::size_t tried = 0; tried < remembered.size(); ++tried, slot = (slot + 1) % remembered.size()) {
    Known& known = remembered[slot];
    if (known.instruction == instruction) return known.place;
    if (known.instruction != nullptr) continue;
    Dl_info info{};
    const bool named = dladdr(instruction, &info) != 0 && info.dli_sname != nullptr;
    known = {instruction, named ? place_of(info.dli_sname) : Place::other};
    return known.place;
  }
  return Place::other;
}

// A pool's own ring is part of the pool; a function that says nothing belongs to its caller.
void enter(const void* instruction) {
  if (turns_of_this_thread() == nullptr) return;
  const Place outer = places.now();
  const Place inner = place_at(instruction);
  const Place place = inner == Place::other || outer == Place::pool ? outer : inner;
  if (places.depth < Places::kDeepest) places.of[static_cast<std::size_t>(places.depth)] = place;
  ++places.depth;
}

void leave() {
  if (turns_of_this_thread() != nullptr && places.depth > 0) --places.depth;
}

void seen(const volatile void* address, std::size_t bytes, Kind kind) {
  if (Turns* const turns = turns_of_this_thread()) {
    turns->access(places.now(), reinterpret_cast<std::uintptr_t>(address), bytes, kind);
  }
}

// Before an access whose kind shows only when it has been made.
void due() {
  if (Turns* const turns = turns_of_this_thread()) turns->due();
}

}  // namespace
}  // namespace allocpool::sharing

using allocpool::sharing::due;
using allocpool::sharing::Kind;
using allocpool::sharing::kMutexBytes;
using allocpool::sharing::seen;

// The names are the compiler's, and so are those behind __wrap_.
#define HOOK extern "C" __attribute__((visibility("default"), used))

HOOK void __tsan_init() {}
HOOK void __tsan_func_entry(void*) { allocpool::sharing::enter(__builtin_return_address(0)); }
HOOK void __tsan_func_exit() { allocpool::sharing::leave(); }

#define PLAIN(BYTES)                                                                                   \
  HOOK void __tsan_read##BYTES(void* address) { seen(address, BYTES, Kind::read); }                    \
  HOOK void __tsan_write##BYTES(void* address) { seen(address, BYTES, Kind::write); }                  \
  HOOK void __tsan_unaligned_read##BYTES(void* address) { seen(address, BYTES, Kind::read); }          \
  HOOK void __tsan_unaligned_write##BYTES(void* address) { seen(address, BYTES, Kind::write); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
#undef PLAIN

HOOK void __tsan_read_range(void* address, std::size_t bytes) { seen(address, bytes, Kind::read); }
HOOK void __tsan_write_range(void* address, std::size_t bytes) { seen(address, bytes, Kind::write); }
HOOK void __tsan_vptr_update(void** address, void*) { seen(address, sizeof *address, Kind::write); }
HOOK void __tsan_vptr_read(void** address) { seen(address, sizeof *address, Kind::read); }

// Only the thread whose turn it is runs, so that the strongest order costs nothing and is right for all.
#define ATOMIC_CHANGE(BITS, TYPE, NAME)                                                   \
  HOOK TYPE __tsan_atomic##BITS##_##NAME(volatile TYPE* address, TYPE value, int) {       \
    seen(address, sizeof value, Kind::exchange);                                          \
    return __atomic_##NAME(address, value, __ATOMIC_SEQ_CST);                             \
  }
#define ATOMIC_COMPARE(BITS, TYPE, NAME)                                                                           \
  HOOK int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile TYPE* address, TYPE* expected, TYPE value, int, \
                                                         int) {                                                    \
    due();                                                                                                         \
    const bool matches =                                                                                           \
        __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
    seen(address, sizeof value, matches ? Kind::exchange : Kind::failed_exchange);                                 \
    return matches;                                                                                                \
  }
#define ATOMIC(BITS, TYPE)                                                                  \
  HOOK TYPE __tsan_atomic##BITS##_load(const volatile TYPE* address, int) {                 \
    seen(address, sizeof *address, Kind::read);                                             \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                      \
  }                                                                                         \
  HOOK void __tsan_atomic##BITS##_store(volatile TYPE* address, TYPE value, int) {          \
    seen(address, sizeof value, Kind::write);                                               \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                     \
  }                                                                                         \
  HOOK TYPE __tsan_atomic##BITS##_exchange(volatile TYPE* address, TYPE value, int) {       \
    seen(address, sizeof value, Kind::exchange);                                            \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                           \
  }                                                                                         \
  ATOMIC_CHANGE(BITS, TYPE, fetch_add)                                                      \
  ATOMIC_CHANGE(BITS, TYPE, fetch_sub)                                                      \
  ATOMIC_CHANGE(BITS, TYPE, fetch_and)                                                      \
  ATOMIC_CHANGE(BITS, TYPE, fetch_or)                                                       \
  ATOMIC_CHANGE(BITS, TYPE, fetch_xor)                                                      \
  ATOMIC_COMPARE(BITS, TYPE, strong)                                                        \
  ATOMIC_COMPARE(BITS, TYPE, weak)
ATOMIC(8, std::uint8_t)
ATOMIC(16, std::uint16_t)
ATOMIC(32, std::uint32_t)
ATOMIC(64, std::uint64_t)
#undef ATOMIC
#undef ATOMIC_COMPARE
#undef ATOMIC_CHANGE

HOOK void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
HOOK void __tsan_atomic_signal_fence(int) {}

extern "C" void* __real_memcpy(void* to, const void* from, std::size_t bytes);
extern "C" void* __real_memmove(void* to, const void* from, std::size_t bytes);
extern "C" void* __real_memset(void* to, int byte, std::size_t bytes);
extern "C" int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
extern "C" int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);
extern "C" int __real_sched_yield();
extern "C" int __real_nanosleep(const timespec* asked, timespec* left);

HOOK void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  seen(from, bytes, Kind::read);
  seen(to, bytes, Kind::write);
  return __real_memcpy(to, from, bytes);
}

HOOK void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  seen(from, bytes, Kind::read);
  seen(to, bytes, Kind::write);
  return __real_memmove(to, from, bytes);
}

HOOK void* __wrap_memset(void* to, int byte, std::size_t bytes) {
  seen(to, bytes, Kind::write);
  return __real_memset(to, byte, bytes);
}

// Clang's names for the same.
HOOK void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) { return __wrap_memcpy(to, from, bytes); }
HOOK void* __tsan_memmove(void* to, const void* from, std::size_t bytes) { return __wrap_memmove(to, from, bytes); }
HOOK void* __tsan_memset(void* to, int byte, std::size_t bytes) { return __wrap_memset(to, byte, bytes); }

// Who finds it taken lets the others run, or its holder would never come to its turn.
HOOK int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  allocpool::sharing::Turns* const turns = allocpool::sharing::turns_of_this_thread();
  if (turns == nullptr) return __real_pthread_mutex_lock(mutex);
  while (true) {
    due();
    const int taken = pthread_mutex_trylock(mutex);
    seen(mutex, kMutexBytes, taken == 0 ? Kind::exchange : Kind::failed_exchange);
    if (taken == 0) return 0;
    turns->pass();
  }
}

HOOK int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  seen(mutex, kMutexBytes, Kind::exchange);
  return __real_pthread_mutex_unlock(mutex);
}

HOOK int __wrap_sched_yield() {
  allocpool::sharing::Turns* const turns = allocpool::sharing::turns_of_this_thread();
  if (turns == nullptr) return __real_sched_yield();
  turns->pass();
  return 0;
}

HOOK int __wrap_nanosleep(const timespec* asked, timespec* left) {
  allocpool::sharing::Turns* const turns = allocpool::sharing::turns_of_this_thread();
  if (turns == nullptr) return __real_nanosleep(asked, left);
  turns->pass();
  return 0;
}
