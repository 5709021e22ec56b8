// Rounds of the same simple work: obtain `slots` buffers and touch each, then give all of them back; both parts timed
// apart. The live set therefore climbs from nothing to slots * bytes and falls again, in C++ as in Java.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "allocpool.h"
#include "buffers/touch.hpp"
#include "os/allocator.hpp"
#include "os/clock.hpp"

namespace allocpool::buffers {

// Fresh from the allocator each time.
class Malloc {
 public:
  static constexpr bool kAllocates = true;
  Malloc(std::size_t bytes, std::size_t) : bytes_(bytes) {}

  void* obtain() {
    void* const buffer = std::malloc(bytes_);
    if (buffer == nullptr) throw std::bad_alloc();
    return buffer;
  }

  void release(void* buffer) { std::free(buffer); }

 private:
  const std::size_t bytes_;
};

// Made at the start and kept on a stack.
class MallocPool {
 public:
  static constexpr bool kAllocates = false;

  MallocPool(std::size_t bytes, std::size_t slots) : made_(bytes, slots) {
    stack_.reserve(slots);
    for (std::size_t i = 0; i < slots; ++i) stack_.push_back(made_.obtain());
    top_ = slots;
  }
  ~MallocPool() {
    for (std::size_t i = 0; i < top_; ++i) made_.release(stack_[i]);
  }
  MallocPool(const MallocPool&) = delete;
  MallocPool& operator=(const MallocPool&) = delete;

  void* obtain() { return stack_[--top_]; }
  void release(void* buffer) { stack_[top_++] = buffer; }

 private:
  Malloc made_;
  std::vector<void*> stack_;
  std::size_t top_ = 0;
};

class Allocation {
 public:
  virtual ~Allocation() = default;

  // Rounds until the time has passed; see ap_allocation_run.
  virtual std::int64_t run(std::int64_t duration_ns, std::int64_t iteration_ns, ap_buffers_iteration* out,
                           std::int64_t capacity) = 0;

  // Whether the buffers of one round are there: the line that says what is wrong, or nothing.
  virtual std::string verify(ap_allocation_counters* counters) = 0;
};

template <class Source, Touch kTouch>
class AllocationRounds final : public Allocation {
 public:
  AllocationRounds(std::size_t bytes, std::size_t slots)
      : bytes_(bytes), source_(bytes, slots), slots_(slots, nullptr), sorted_(slots, nullptr) {}

  std::int64_t run(std::int64_t duration_ns, std::int64_t iteration_ns, ap_buffers_iteration* out,
                   std::int64_t capacity) override {
    const std::int64_t begin_ns = os::monotonic_ns();
    std::int64_t now_ns = begin_ns;
    std::int64_t used = 0;
    while (now_ns - begin_ns < duration_ns && used < capacity) {
      ap_buffers_iteration found{now_ns, 0, 0, 0, 0};
      do {
        fill();
        const std::int64_t full_ns = os::monotonic_ns();
        found.alloc_ns += full_ns - now_ns;
        drain();
        now_ns = os::monotonic_ns();
        found.free_ns += now_ns - full_ns;
        found.count += static_cast<std::int64_t>(slots_.size());
      } while (now_ns - found.start_ns < iteration_ns && now_ns - begin_ns < duration_ns);
      found.end_ns = now_ns;
      out[used++] = found;
    }
    return used;
  }

  std::string verify(ap_allocation_counters* counters) override {
    const std::int64_t before = os::allocated_bytes();
    fill();
    const std::int64_t after = os::allocated_bytes();
    *counters = {static_cast<std::int64_t>(slots_.size()), 0, before < 0 ? -1 : after - before};
    std::string fault = look(counters);
    drain();
    return fault;
  }

 private:
  // Never inlined: what is verified is the very code that is measured.
  __attribute__((noinline)) void fill() {
    for (void*& slot : slots_) {
      void* const buffer = source_.obtain();
      escape(buffer);
      touch<kTouch>(buffer, bytes_);
      slot = buffer;
    }
  }

  __attribute__((noinline)) void drain() {
    for (void* buffer : slots_) source_.release(buffer);
  }

  std::string look(ap_allocation_counters* counters) {
    // Small blocks wait in caches that some counters count as handed out.
    constexpr std::int64_t kCached = 1 << 17;
    std::copy(slots_.begin(), slots_.end(), sorted_.begin());
    std::sort(sorted_.begin(), sorted_.end(), std::less<void*>());
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      const char* const here = static_cast<const char*>(sorted_[i]);
      if (here == nullptr) return "a slot without a buffer";
      const bool last = i + 1 == sorted_.size();
      if (!last && static_cast<const char*>(sorted_[i + 1]) - here < static_cast<std::ptrdiff_t>(bytes_)) {
        return "two live buffers share memory: an allocation was skipped";
      }
    }
    for (void* buffer : sorted_) counters->held_bytes += static_cast<std::int64_t>(os::usable_bytes(buffer));
    const auto asked = static_cast<std::int64_t>(bytes_ * slots_.size());
    if (counters->held_bytes < asked) return "the allocator holds fewer bytes than were asked for";
    if (counters->counted_bytes == -1) return "";
    if (Source::kAllocates && counters->counted_bytes + kCached < asked) {
      return "the allocator counted fewer bytes than were asked for";
    }
    if (!Source::kAllocates && counters->counted_bytes > kCached) return "a pool took memory from the allocator";
    return "";
  }

  const std::size_t bytes_;
  Source source_;
  std::vector<void*> slots_;
  std::vector<void*> sorted_;
};

// Throws UserError for an unknown strategy or touch.
std::unique_ptr<Allocation> make_allocation(const std::string& strategy, const std::string& touch, std::size_t bytes,
                                            std::size_t slots);

}  // namespace allocpool::buffers
