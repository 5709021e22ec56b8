// Pieces of work by which a slowed machine is recognised: one for a core, and two for its way to memory.
//
// On a virtual machine two processors of different owners may share one core. Then each runs at a part of its pace, and
// no clock, counter or steal time of the guest says so. What it costs most is what fills the core's issue slots and its
// caches of the second level, as packets do; a chain of dependent instructions hardly feels it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
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

// Kept: which lines of a cache its pages compete for is decided when they are first touched.
std::vector<std::uint64_t>& core_words() {
  thread_local std::vector<std::uint64_t> words(kWords);
  return words;
}

constexpr std::size_t kWordsPerLine = 8;
constexpr std::uint64_t kMemoryLines = std::uint64_t{1} << 19;  // 32 MiB: beyond the caches that belong to one core
constexpr std::size_t kSlices = 5;                              // odd, so that one of them is the median
constexpr int kPasses = 64;
constexpr std::uint64_t kReads = 5'000;

void keep(std::uint64_t value) { asm volatile("" : : "r"(value) : "memory"); }

// The median over slices of what `work` took, in nanoseconds.
template <class Work>
double median_ns(const Work& work) {
  std::array<std::int64_t, kSlices> took_ns{};
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    const std::int64_t start_ns = allocpool::os::monotonic_ns();
    work(slice);
    took_ns[slice] = allocpool::os::monotonic_ns() - start_ns;
  }
  std::nth_element(took_ns.begin(), took_ns.begin() + kSlices / 2, took_ns.end());
  return static_cast<double>(std::max<std::int64_t>(took_ns[kSlices / 2], 1));
}

// The first word of each line names another line, so that all of them are one circle in a random order (Sattolo).
std::vector<std::uint64_t> circle() {
  std::vector<std::uint64_t> words(kMemoryLines * kWordsPerLine);
  for (std::uint64_t line = 0; line < kMemoryLines; ++line) words[line * kWordsPerLine] = line;
  for (std::uint64_t line = kMemoryLines - 1; line > 0; --line) {
    std::swap(words[line * kWordsPerLine], words[allocpool::draw(1, line) % line * kWordsPerLine]);
  }
  return words;
}

std::uint64_t sum(const std::vector<std::uint64_t>& words, std::size_t begin, std::size_t end) {
  std::uint64_t total = 0;
  for (std::size_t word = begin; word < end; ++word) total += words[word];
  return total;
}

}  // namespace

ap_status ap_read_machine_pace(ap_machine_pace* pace) {
  return c_api::status<ap_status>({}, [&] {
    ap_machine_pace& out = c_api::at(pace);
    thread_local const std::vector<std::uint64_t> memory = circle();
    thread_local std::uint64_t line = 0;
    keep(sum(memory, 0, memory.size()));  // not timed: from here on the caches are the same, whatever ran before
    const std::size_t part = memory.size() / kSlices;
    const double part_ns = median_ns([&](std::size_t slice) { keep(sum(memory, slice * part, (slice + 1) * part)); });
    out.bandwidth_gbs = static_cast<double>(part * sizeof(std::uint64_t)) / part_ns;
    out.latency_ns = median_ns([&](std::size_t) {
                       for (std::uint64_t read = 0; read < kReads; ++read) line = memory[line * kWordsPerLine];
                       keep(line);
                     }) /
                     static_cast<double>(kReads);
    std::vector<std::uint64_t>& words = core_words();
    pass(words);
    out.compute_ns = median_ns([&](std::size_t) {
                       for (int passed = 0; passed < kPasses; ++passed) pass(words);
                       keep(words[0]);
                     }) /
                     static_cast<double>(kPasses * kSteps);
  });
}
