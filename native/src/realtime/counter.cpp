#include "realtime/counter.hpp"

#include <algorithm>
#include <cmath>

#include "realtime/cpu.hpp"

namespace allocpool::realtime {
namespace {

// An anchor may be this much wider than the best one seen at the same time before it counts as disturbed.
constexpr std::uint64_t kDisturbedFactor = 4;
constexpr int kTries = 8;

// Two anchors closer than this would make a rate out of little more than the time that reading the clocks takes.
constexpr std::int64_t kShortestBaselineNs = 10'000'000;

double rate(std::uint64_t units, std::int64_t ns) { return static_cast<double>(units) / static_cast<double>(ns); }

}  // namespace

Timeline::Anchor Timeline::take() const {
  Anchor best{0, 0, ~std::uint64_t{0}};
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = read_();
    const std::int64_t ns = os::monotonic_ns();
    const std::uint64_t after = read_();
    if (after - before < best.width) best = {before + (after - before) / 2, ns, after - before};
  }
  return best;
}

Timeline::Timeline(Read read, std::int64_t calibration_ns) : read_(read), first_(take()) {
  while (os::monotonic_ns() - first_.ns < calibration_ns) cpu_relax();
  last_ = take();
  calibrated_units_per_ns_ = units_per_ns_ = rate(last_.units - first_.units, last_.ns - first_.ns);
}

void Timeline::anchor() {
  const Anchor next = take();
  if (next.width > kDisturbedFactor * std::max(first_.width, last_.width)) return;
  if (next.ns - last_.ns < kShortestBaselineNs) return;
  max_error_ns_ = std::max(max_error_ns_, std::fabs(static_cast<double>(to_ns(next.units) - next.ns)));
  units_per_ns_ = rate(next.units - last_.units, next.ns - last_.ns);
  last_ = next;
}

std::int64_t Timeline::to_ns(std::uint64_t counter) const {
  const auto units = static_cast<std::int64_t>(counter - last_.units);  // negative before the anchor
  return last_.ns + static_cast<std::int64_t>(std::llround(static_cast<double>(units) / units_per_ns_));
}

double Timeline::units_after_anchor(std::int64_t ns, double since_ns) const {
  return (static_cast<double>(ns - last_.ns) + since_ns) * units_per_ns_;
}

double Timeline::drift_ppm() const {
  return (rate(last_.units - first_.units, last_.ns - first_.ns) / calibrated_units_per_ns_ - 1) * 1e6;
}

}  // namespace allocpool::realtime
