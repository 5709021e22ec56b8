// A packet that is an object: what its layout keeps in it, and its buffer. Where the buffer lies the steps decide:
//
//   (none)       an allocation of its own, behind a pointer: two objects for each packet
//   + inline     behind what the layout keeps, in the same object
//   + one_line   the object is aligned to a cache line: what the layout keeps and the header share it
//   + stride     longer by a line. glibc sets aligned objects of this size an odd number of lines apart, which spreads
//                their first lines over all sets of a cache; without it the distance is even
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "packets/packet_format.hpp"

namespace allocpool {

inline constexpr std::size_t kLineBytes = 64;

template <std::size_t kBytes>
struct Buffer {
  Buffer() {}  // left unwritten, as a plain `new` of the published model does
  std::array<std::uint8_t, kBytes> bytes;
};

template <class Kept, bool kInline, bool kOneLine, bool kStride>
struct alignas(kOneLine ? kLineBytes : alignof(Kept)) PacketObject {
  static_assert(kInline && (kOneLine || !kStride));
  static_assert(!kOneLine || sizeof(Kept) + kPayloadOffset <= kLineBytes);
  Kept kept{};
  Buffer<kBufferBytes + (kStride ? kLineBytes : 0)> buffer;

  std::uint8_t* bytes() { return buffer.bytes.data(); }
};

template <class Kept>
struct PacketObject<Kept, false, false, false> {
  using Separate = Buffer<kBufferBytes>;
  Kept kept{};
  Separate* buffer = nullptr;

  std::uint8_t* bytes() { return buffer->bytes.data(); }
};

// Makes such packets out of a memory, and takes them apart.
template <class Memory, class Packet, bool kInline>
class PacketObjects {
 public:
  Packet* construct() { return packets_.construct(); }
  void destroy(Packet* packet) { packets_.destroy(packet); }

 private:
  typename Memory::template Of<Packet> packets_;
};

template <class Memory, class Packet>
class PacketObjects<Memory, Packet, false> {
 public:
  Packet* construct() {
    Packet* const packet = packets_.construct();
    try {
      packet->buffer = buffers_.construct();
    } catch (...) {
      packets_.destroy(packet);
      throw;
    }
    return packet;
  }

  void destroy(Packet* packet) {
    buffers_.destroy(packet->buffer);
    packets_.destroy(packet);
  }

 private:
  typename Memory::template Of<Packet> packets_;
  typename Memory::template Of<typename Packet::Separate> buffers_;
};

}  // namespace allocpool
