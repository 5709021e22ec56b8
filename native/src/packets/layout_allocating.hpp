// Layout `allocating`: parsing makes objects of its own by `new`, the way an object-oriented parser is usually first
// written. They live until the packet is freed.
//
// What a layout says (see registry.cpp): its name; the steps that it has and which of them are types; which memories it can
// take, which steps make sense with one, and the class With<Memory, steps>.
//
// What that class gives (see Processor): the Handle that stands for a packet, and kNone that stands for none; construct
// and destroy for strategies; header, payload, parse, release and fields for the processor; how many packets ahead to
// prefetch, 0 for never; memory per packet, for the check before start.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include "allocpool.h"
#include "packets/memory_new.hpp"
#include "packets/packet_format.hpp"
#include "packets/packet_object.hpp"
#include "packets/steps.hpp"

namespace allocpool {

template <class Memory, bool kInline>
class AllocatingLayout {
 public:
  struct Address {
    std::uint32_t value;
  };

  struct Header {
    std::uint16_t length;
    std::uint16_t source_port;
    std::uint16_t destination_port;
    std::uint8_t transport;
  };

  struct ParseResult {
    std::unique_ptr<Header> header;
    std::unique_ptr<Address> source;
    std::unique_ptr<Address> destination;
    const std::uint8_t* payload;
    std::uint16_t payload_length;
  };

  using Packet = PacketObject<std::unique_ptr<ParseResult>, kInline, false, false>;
  using Handle = Packet*;
  static constexpr Handle kNone = nullptr;
  static constexpr std::size_t kPrefetch = 0;
  static constexpr std::size_t kPacketBytes = sizeof(Packet) + (kInline ? 0 : kBufferBytes) + sizeof(ParseResult) +
                                              sizeof(Header) + 2 * sizeof(Address);

  Handle construct() { return packets_.construct(); }
  void destroy(Handle packet) { packets_.destroy(packet); }

  static ap_region region() { return {nullptr, 0}; }

  static std::uint8_t* header(Handle packet) { return packet->bytes(); }
  static std::uint8_t* payload(Handle packet) { return packet->bytes() + kPayloadOffset; }

  // Parses the packet's buffer, whose marker has been checked.
  __attribute__((always_inline)) Fields parse(Handle packet) {
    const Fields read = read_header(header(packet));
    auto result = std::make_unique<ParseResult>();
    result->header.reset(new Header{read.length, read.source_port, read.destination_port, read.transport});
    result->source.reset(new Address{read.source});
    result->destination.reset(new Address{read.destination});
    result->payload = payload(packet);
    result->payload_length = read.length;
    packet->kept = std::move(result);
    return read;
  }

  void release(Handle packet) { packet->kept.reset(); }

  static bool is_parsed(Handle packet) { return packet->kept != nullptr; }

  static Fields fields(Handle packet) {
    const ParseResult& result = *packet->kept;
    return Fields{result.source->value,          result.destination->value, result.header->source_port,
                  result.header->destination_port, result.payload_length,     result.header->transport};
  }

 private:
  PacketObjects<Memory, Packet, kInline> packets_;
};

struct Allocating {
  static constexpr std::string_view kName = "allocating";
  static constexpr Ladder kLadder{"", "inline", false, ""};
  static constexpr std::array kSwitches{&Steps::inline_buffer};
  template <class Memory, bool kInline>
  static constexpr bool kMakesSense = true;
  template <class Memory, bool... kSteps>
  using With = AllocatingLayout<Memory, kSteps...>;
};

}  // namespace allocpool
