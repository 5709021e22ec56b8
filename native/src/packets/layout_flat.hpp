// Layout `flat`: the parse result is embedded in the packet, so that processing allocates nothing.
#pragma once

#include <array>

#include "allocpool.h"
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

  using Handle = Packet*;
  static constexpr Handle kNone = nullptr;
  static constexpr std::size_t kPrefetch = 0;
  static constexpr const char* kName = "flat";
  static constexpr std::size_t kPacketBytes = sizeof(Packet);

  Handle construct() { return new Packet; }
  void destroy(Handle packet) { delete packet; }

  static ap_region region() { return {nullptr, 0}; }

  static std::uint8_t* header(Handle packet) { return packet->buffer.data(); }

  Fields parse(Handle packet) {
    const Fields read = read_header(packet->buffer.data());
    packet->result = read;
    packet->payload = packet->buffer.data() + kPayloadOffset;
    return read;
  }

  void release(Handle) {}

  static bool is_parsed(Handle packet) { return packet->payload != nullptr; }

  static Fields fields(Handle packet) { return packet->result; }
};

}  // namespace allocpool
