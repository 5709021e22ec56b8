// Layout `flat`: the parse result is embedded in the packet, so that processing allocates nothing.
#pragma once

#include <array>

#include "packets/wire.hpp"

namespace allocpool {

class FlatLayout {
 public:
  struct Packet {
    Packet() {}  // leaves the buffer unwritten, as a plain `new` of the published model does
    Fields result{};
    const std::uint8_t* payload = nullptr;
    std::array<std::uint8_t, kBufferBytes> buffer;
  };

  static constexpr const char* kName = "flat";
  static constexpr std::size_t kPacketBytes = sizeof(Packet);

  Packet* construct() { return new Packet; }
  void destroy(Packet* packet) { delete packet; }

  std::uint8_t parse(Packet& packet) {
    const std::uint8_t* const buffer = packet.buffer.data();
    packet.result = Fields{get_u32(buffer + 4),  get_u32(buffer + 8), get_u16(buffer + 12),
                           get_u16(buffer + 14), get_u16(buffer + 2), buffer[16]};
    packet.payload = buffer + kPayloadOffset;
    return packet.result.transport;
  }

  void release(Packet&) {}

  static bool is_parsed(const Packet& packet) { return packet.payload != nullptr; }

  static Fields fields(const Packet& packet) { return packet.result; }
};

}  // namespace allocpool
