// Random numbers as a pure function of a seed and an ordinal: SplitMix64 (Steele, Lea, Flood: "Fast Splittable
// Pseudorandom Number Generators", OOPSLA 2014) used counter-based, so that a receiver that lost packets draws the same as
// one that lost none. The Java workloads draw the same bits.
#pragma once

#include <cstdint>

namespace allocpool {

// 2^64 divided by the golden ratio, made odd: what SplitMix64's state grows by.
inline constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15ULL;

// The n-th draw (n from 0) of the stream that `seed` names.
constexpr std::uint64_t draw(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t z = seed + (n + 1) * kGoldenGamma;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace allocpool
