// What a message says: a pure function of seed, connection and number, so that an echo of any other is told at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allocpool::echo {

// Writes message `number` of `connection`: `bytes` printable ASCII characters, the last of them a newline.
inline void write_message(std::uint64_t seed, std::uint64_t connection, std::uint64_t number, char* out,
                          std::size_t bytes) {
  // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), counter-based; five bits of each byte on top of 'A'.
  std::uint64_t state = seed ^ (connection << 40) ^ (number << 8);
  for (std::size_t at = 0; at < bytes; at += sizeof state) {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z = ((z ^ (z >> 31)) & 0x1F1F1F1F1F1F1F1FULL) + 0x4141414141414141ULL;
    std::memcpy(out + at, &z, bytes - at < sizeof z ? bytes - at : sizeof z);
  }
  out[bytes - 1] = '\n';
}

}  // namespace allocpool::echo
