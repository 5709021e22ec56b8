// The payload, where it is touched: written when a packet is filled, read when it is parsed. Its bytes are those of one
// draw, over and over, so that whole words can be written; what is read is the sum of its words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "packets/packet_format.hpp"
#include "splitmix.hpp"

namespace allocpool {

// Keeps the payloads' draws apart from those of the packets: "Payload!".
inline constexpr std::uint64_t kPayloadStream = 0x5061796C6F616421ULL;

constexpr std::uint64_t little_endian(std::uint64_t value) {
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? value : __builtin_bswap64(value);
}

// Byte k is byte k % 8 of the draw, the lowest first. The last word is written whole: the buffer has room for it.
__attribute__((always_inline)) inline void write_payload(std::uint8_t* payload, std::uint64_t drawn,
                                                         std::size_t length) {
  const std::uint64_t word = little_endian(drawn);
  for (std::size_t at = 0; at < length; at += sizeof word) std::memcpy(payload + at, &word, sizeof word);
}

// The sum of the words, modulo 2^64; what is missing of the last one counts as zeros.
__attribute__((always_inline)) inline std::uint64_t sum_of_payload(const std::uint8_t* payload, std::size_t length) {
  const auto word = [payload](std::size_t at) {
    std::uint64_t raw;
    std::memcpy(&raw, payload + at, sizeof raw);
    return little_endian(raw);
  };
  std::uint64_t sum = 0;
  std::size_t at = 0;
  for (; at + sizeof sum <= length; at += sizeof sum) sum += word(at);
  const std::size_t left = length - at;
  return left > 0 ? sum + (word(at) & ((std::uint64_t{1} << (8 * left)) - 1)) : sum;
}

}  // namespace allocpool
