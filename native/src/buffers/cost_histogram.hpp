// Costs in nanoseconds, counted in buckets a thirty-second part wide: percentiles without memory per cost.
// Java's `allocpool.allocation.CostHistogram` has the same buckets.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace allocpool::buffers {

class CostHistogram {
 public:
  void add(std::int64_t cost_ns) {
    ++counts_[bucket(cost_ns)];
    ++total_;
    max_ns_ = std::max(max_ns_, cost_ns);
  }

  void clear() {
    counts_.fill(0);
    total_ = 0;
    max_ns_ = 0;
  }

  // The upper edge of the bucket below which so many thousandths of the costs lie; 0 without costs.
  std::int64_t at(std::int64_t thousandths) const {
    const std::int64_t wanted = (total_ * thousandths + 999) / 1000;
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size() && total_ > 0; ++i) {
      seen += counts_[i];
      if (seen >= wanted) return std::min(edge(i), max_ns_);
    }
    return max_ns_;
  }

  std::int64_t max_ns() const { return max_ns_; }

 private:
  static constexpr int kBits = 5;
  static constexpr std::size_t kSteps = std::size_t{1} << kBits;

  static std::size_t bucket(std::int64_t cost_ns) {
    const auto cost = static_cast<std::uint64_t>(std::max<std::int64_t>(0, cost_ns));
    if (cost < kSteps) return static_cast<std::size_t>(cost);
    const int shift = 63 - __builtin_clzll(cost) - kBits;
    return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(cost >> shift);
  }

  static std::int64_t edge(std::size_t number) {
    if (number < kSteps) return static_cast<std::int64_t>(number);
    const std::size_t shift = (number >> kBits) - 1;
    return static_cast<std::int64_t>((((number & (kSteps - 1)) + kSteps + 1) << shift) - 1);
  }

  std::array<std::int64_t, 60 * kSteps> counts_{};
  std::int64_t total_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace allocpool::buffers
