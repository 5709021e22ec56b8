// What a message says: a pure function of seed, connection and number, so that an echo of any other is found at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "splitmix.hpp"

namespace allocpool::echo {

// Writes message `number` of `connection`: `bytes` printable ASCII characters, the last of them a newline.
inline void write_message(std::uint64_t seed, std::uint64_t connection, std::uint64_t number, char* out,
                          std::size_t bytes) {
  // Five bits of each byte on top of 'A'.
  const std::uint64_t stream = seed ^ (connection << 40) ^ (number << 8);
  for (std::size_t at = 0; at < bytes; at += sizeof stream) {
    const std::uint64_t letters = (draw(stream, at / sizeof stream) & 0x1F1F1F1F1F1F1F1FULL) + 0x4141414141414141ULL;
    std::memcpy(out + at, &letters, std::min(bytes - at, sizeof letters));
  }
  out[bytes - 1] = '\n';
}

}  // namespace allocpool::echo
