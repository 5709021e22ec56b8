// What a sequence number draws: the content of a packet, the same in every language.
#pragma once

#include <cstdint>

#include "packets/packet_format.hpp"
#include "splitmix.hpp"

namespace allocpool {

__attribute__((always_inline)) constexpr Fields drawn_fields(std::uint64_t seed, std::uint64_t sequence) {
  const std::uint64_t r = draw(seed, sequence);
  return Fields{0x0A000000U + static_cast<std::uint32_t>(r & 1023U),
                0x0A010000U + static_cast<std::uint32_t>((r >> 10) & 1023U),
                static_cast<std::uint16_t>(1024U + ((r >> 20) & 1023U)),
                static_cast<std::uint16_t>(1024U + ((r >> 30) & 1023U)),
                static_cast<std::uint16_t>(50U + ((r >> 44) & 63U)),
                ((r >> 40) & 15U) == 0 ? kTcp : kUdp};
}

}  // namespace allocpool
