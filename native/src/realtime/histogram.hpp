// Delays in nanoseconds, log-linear: three significant digits from 1 ns to one hour.
//
// The buckets are those of HdrHistogram (Tene, hdrhistogram.org) with lowest value 1, highest 3,600,000,000,000 and 3
// digits, in the same order, so that its ports can be filled from the counts array.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace allocpool::realtime {

class DelayHistogram {
 public:
  static constexpr std::int64_t kHighestNs = 3'600'000'000'000;
  static constexpr int kSignificantDigits = 3;
  static constexpr std::size_t kCounts = 33'792;  // 33 half buckets of 1,024

  DelayHistogram() : counts_(kCounts) {}

  // Records `count` delays. Below 0 counts as 0, above the highest as the highest.
  void record(std::int64_t delay_ns, std::int64_t count) { counts_[index(delay_ns)] += count; }

  void add(const DelayHistogram& other) {
    for (std::size_t i = 0; i < kCounts; ++i) counts_[i] += other.counts_[i];
  }

  void clear() { counts_.assign(kCounts, 0); }

  const std::vector<std::int64_t>& counts() const { return counts_; }

  // Delays closer than this to one another are the same, or neighbours, in the three digits of a delay of this length.
  static std::int64_t resolution_ns(std::int64_t delay_ns) { return delay_ns >> kSubBucketBits; }

  // The longest delay that is counted at this index.
  static std::int64_t highest_ns(std::size_t index) {
    if (index < kSubBuckets) return static_cast<std::int64_t>(index);
    const std::size_t bucket = (index >> (kSubBucketBits - 1)) - 1;
    const std::size_t within = index - (bucket << (kSubBucketBits - 1));
    return static_cast<std::int64_t>(((within + 1) << bucket) - 1);
  }

  static std::size_t index(std::int64_t delay_ns) {
    if (delay_ns < 0) delay_ns = 0;
    if (delay_ns > kHighestNs) delay_ns = kHighestNs;
    const auto value = static_cast<std::uint64_t>(delay_ns);
    const int bucket = (63 - __builtin_clzll(value | (kSubBuckets - 1))) - (kSubBucketBits - 1);
    return (static_cast<std::size_t>(bucket) << (kSubBucketBits - 1)) + static_cast<std::size_t>(value >> bucket);
  }

 private:
  static constexpr int kSubBucketBits = 11;  // 2,048 sub-buckets tell three digits apart
  static constexpr std::uint64_t kSubBuckets = 1U << kSubBucketBits;

  std::vector<std::int64_t> counts_;
};

}  // namespace allocpool::realtime
