// The order in which free packets wait once a program has run for long: any. A pool that was just filled hands out
// neighbours one after the other, which caches and page tables reward, and loses that order only with time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "splitmix.hpp"

namespace allocpool {

// Keeps these draws apart from those of packets and store: "age".
inline constexpr std::uint64_t kAgeStream = 0x9E6D1CE4AA570B3DULL;

// Shuffles by draws that the seed decides, in every language the same (Fisher and Yates, in Durstenfeld's form: CACM 7(7),
// 1964, algorithm 235).
template <class Item>
void age(Item* items, std::size_t count, std::uint64_t seed) {
  for (std::size_t i = count; i-- > 1;) {
    std::swap(items[i], items[((draw(seed ^ kAgeStream, i) >> 32) * (i + 1)) >> 32]);
  }
}

}  // namespace allocpool
