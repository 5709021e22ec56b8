// A piece of work by which a slowed core is told.
//
// On a virtual machine two processors of different owners may share one core. Then each runs at a part of its pace, and
// no clock, counter or steal time of the guest says so. What it costs most is what fills the core's issue slots and its
// caches of the second level, as packets do; a chain of dependent instructions hardly feels it.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocpool.h"
#include "c_api.hpp"
#include "os/clock.hpp"
#include "splitmix.hpp"

namespace c_api = allocpool::c_api;

namespace {

constexpr std::size_t kWords = std::size_t{1} << 16;  // 512 KiB: beyond the first level, within the second
constexpr std::uint64_t kLines = kWords / 8;
constexpr int kSteps = 4096;  // between looks at the clock

// A step draws a line and writes half of it.
void pass(std::vector<std::uint64_t>& words) {
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    const std::uint64_t drawn = allocpool::draw(0, i);
    std::uint64_t* const line = words.data() + drawn % kLines * 8;
    line[0] = drawn;
    line[1] = drawn >> 8;
    line[2] += drawn >> 16;
    line[3] = drawn * 3;
  }
}

}  // namespace

double ap_pace_ns(int64_t duration_ns) {
  return c_api::counted<double>({}, [&] {
    c_api::require(duration_ns > 0, "duration_ns must be above 0");
    // Kept: which lines of a cache its pages compete for is decided when they are first touched.
    thread_local std::vector<std::uint64_t> words(kWords);
    pass(words);
    const std::int64_t start_ns = allocpool::os::monotonic_ns();
    std::int64_t end_ns = start_ns;
    std::int64_t passes = 0;
    for (; end_ns - start_ns < duration_ns; ++passes) {
      pass(words);
      asm volatile("" : : "r"(words.data()) : "memory");
      end_ns = allocpool::os::monotonic_ns();
    }
    return static_cast<double>(end_ns - start_ns) / static_cast<double>(passes * kSteps);
  });
}
