// Which ring a packet's flow leads to.
#pragma once

#include <algorithm>
#include <cstdint>

#include "splitmix.hpp"

namespace allocpool {

// Packets that come one after the other belong to one flow: a train, as they come off the wire.
inline constexpr std::uint64_t kTrain = 32;

// Which ring the flow of a train leads to: a hash, so rings get unequal shares.
constexpr int ring_of(std::uint64_t seed, std::uint64_t train, int rings) {
  const std::uint64_t drawn = draw(seed ^ 0x464C4F575F525353ULL, train) >> 32;
  return static_cast<int>(drawn * static_cast<std::uint64_t>(rings) >> 32);
}

// The end of the train that `sequence` is in, at most `to`.
constexpr std::uint64_t train_end(std::uint64_t sequence, std::uint64_t to) {
  return std::min(to, (sequence / kTrain + 1) * kTrain);
}

}  // namespace allocpool
