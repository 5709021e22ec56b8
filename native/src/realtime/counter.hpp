// What the source reads to know how late it is: a counter that is cheap to read, and its place on the time axis.
//
// The time-stamp counter costs less than half of clock_gettime, but only CLOCK_MONOTONIC is the axis of this project,
// and it is slewed while it runs. So the counter is only an interpolator: it is anchored to CLOCK_MONOTONIC again and
// again, and how far it had strayed at each anchor is kept as the error of the clock.
#pragma once

#include <cstdint>

#include "os/clock.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <x86intrin.h>
#define ALLOCPOOL_HAS_TSC 1
#endif

namespace allocpool::realtime {

// The counter where there is no invariant time-stamp counter: one unit is one nanosecond.
struct MonotonicCounter {
  static std::uint64_t read() { return static_cast<std::uint64_t>(os::monotonic_ns()); }
};

#if defined(ALLOCPOOL_HAS_TSC)

struct TscCounter {
  static std::uint64_t read() { return __rdtsc(); }
};

// Invariant TSC: constant rate in all power states (CPUID 80000007H, EDX bit 8; Intel SDM vol. 3, 18.17.1; AMD APM
// vol. 3).
inline bool tsc_is_invariant() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1U << 8)) != 0 && os::kernel_trusts_tsc();
}

#else

inline bool tsc_is_invariant() { return false; }

#endif

// The counter on the axis of CLOCK_MONOTONIC.
class Timeline {
 public:
  using Read = std::uint64_t (*)();

  // Anchors the counter twice, `calibration_ns` apart.
  Timeline(Read read, std::int64_t calibration_ns);

  // Anchors again; the rate is taken from the previous anchor, so that a slewed clock is followed. An anchor that was
  // disturbed (the thread was interrupted between the two clocks) is not taken.
  void anchor();

  std::int64_t to_ns(std::uint64_t counter) const;

  // Counter units at `since_ns` after time `ns`, as a real number of units after the anchor's.
  double units_after_anchor(std::int64_t ns, double since_ns) const;
  std::uint64_t anchor_units() const { return last_.units; }
  double units_per_ns() const { return units_per_ns_; }

  // Largest |interpolated - CLOCK_MONOTONIC| that an anchor found, in ns.
  double max_error_ns() const { return max_error_ns_; }

  // Parts per million by which the counter's rate, seen over the whole life of this object, differs from the
  // calibrated.
  double drift_ppm() const;

 private:
  struct Anchor {
    std::uint64_t units;
    std::int64_t ns;
    std::uint64_t width;  // units between the two counter reads around the clock read
  };

  Anchor take() const;

  const Read read_;
  Anchor first_;
  Anchor last_;
  double calibrated_units_per_ns_;
  double units_per_ns_;
  double max_error_ns_ = 0;
};

}  // namespace allocpool::realtime
