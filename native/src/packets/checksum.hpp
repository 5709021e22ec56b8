// The checksum over what was parsed. It depends on every field and on the order of the packets.
#pragma once

#include <cstdint>

#include "packets/packet_format.hpp"

namespace allocpool {

constexpr std::uint64_t rotate_left(std::uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

// Folds two words into the running checksum.
constexpr std::uint64_t fold(std::uint64_t checksum, std::uint64_t first, std::uint64_t second) {
  return checksum * 0xD1342543DE82EF95ULL +
         ((first * 0x9E3779B97F4A7C15ULL) ^ rotate_left(second * 0xC2B2AE3D27D4EB4FULL, 32));
}

// Folds one parse result into it.
__attribute__((always_inline)) constexpr std::uint64_t fold(std::uint64_t checksum, const Fields& fields) {
  const std::uint64_t addresses = std::uint64_t{fields.source} << 32 | fields.destination;
  const std::uint64_t header = std::uint64_t{fields.source_port} << 48 | std::uint64_t{fields.destination_port} << 32 |
                               std::uint64_t{fields.transport} << 16 | fields.length;
  return fold(checksum, addresses, header);
}

}  // namespace allocpool
