// Layout `flat`: the parse result is embedded in the packet, so that processing allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "allocpool.h"
#include "packets/packet_format.hpp"

namespace allocpool {

template <class Memory>
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
  static constexpr std::size_t kPacketBytes = sizeof(Packet);

  Handle construct() { return packets_.construct(); }
  void destroy(Handle packet) { packets_.destroy(packet); }

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

 private:
  typename Memory::template Of<Packet> packets_;
};

struct Flat {
  static constexpr std::string_view kName = "flat";
  template <class Memory>
  static constexpr bool kTakes = Memory::kGivesObjects;
  template <class Memory>
  using With = FlatLayout<Memory>;
};

}  // namespace allocpool
