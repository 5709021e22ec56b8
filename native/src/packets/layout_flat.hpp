// Layout `flat`: the parse result is embedded in the packet, so that processing allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "allocpool.h"
#include "packets/packet_format.hpp"
#include "packets/packet_object.hpp"
#include "packets/steps.hpp"

namespace allocpool {

template <class Memory, bool kInline, bool kOneLine, bool kStride, bool kPrefetched>
class FlatLayout {
  struct Result {
    Fields fields;
    const std::uint8_t* payload;
  };

 public:
  using Packet = PacketObject<Result, kInline, kOneLine, kStride>;
  using Handle = Packet*;
  static constexpr Handle kNone = nullptr;
  // As far as in layout slab.
  static constexpr std::size_t kPrefetch = kPrefetched ? 32 : 0;
  static constexpr std::size_t kPacketBytes = sizeof(Packet) + (kInline ? 0 : kBufferBytes);

  Handle construct() { return packets_.construct(); }
  void destroy(Handle packet) { packets_.destroy(packet); }

  static ap_region region() { return {nullptr, 0}; }

  static std::uint8_t* header(Handle packet) { return packet->bytes(); }
  static std::uint8_t* payload(Handle packet) { return packet->bytes() + kPayloadOffset; }

  Fields parse(Handle packet) {
    const Fields read = read_header(header(packet));
    packet->kept = {read, payload(packet)};
    return read;
  }

  // A free packet has no parse result.
  void release(Handle packet) { packet->kept.payload = nullptr; }

  static bool is_parsed(Handle packet) { return packet->kept.payload != nullptr; }

  static Fields fields(Handle packet) { return packet->kept.fields; }

  // Fetches what parsing will touch. Where the object is not aligned, that may be in two lines.
  __attribute__((always_inline)) void prefetch(Handle packet) const {
    __builtin_prefetch(packet, 1);
    if constexpr (!kOneLine) __builtin_prefetch(payload(packet), 1);
  }

 private:
  PacketObjects<Memory, Packet, kInline> packets_;
};

struct Flat {
  static constexpr std::string_view kName = "flat";
  static constexpr Ladder kLadder{"", "inline,one_line,stride,prefetch", false,
                                  "one_line:inline,stride:one_line,prefetch:inline"};
  static constexpr std::array kSwitches{&Steps::inline_buffer, &Steps::one_line, &Steps::stride, &Steps::prefetch};
  template <class Memory, bool kInline, bool kOneLine, bool kStride, bool kPrefetched>
  static constexpr bool kMakesSense =
      (kInline || !(kOneLine || kPrefetched)) && (kOneLine || !kStride) &&
      (Memory::kAligns || !(kOneLine || kPrefetched));
  template <class Memory, bool... kSteps>
  using With = FlatLayout<Memory, kSteps...>;
};

}  // namespace allocpool
