// A packet that goes from thread to thread, and what happens to it on either side of the seam. What it holds is the same,
// bit by bit, as in Java (allocpool.packets.Seam).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "flows.hpp"
#include "packets/checksum.hpp"
#include "packets/layout_allocating.hpp"
#include "packets/layout_flat.hpp"
#include "packets/memory_new.hpp"
#include "packets/packet_format.hpp"
#include "packets/packet_generator.hpp"
#include "splitmix.hpp"

namespace allocpool::threads {

// Two cache lines: processors fetch them in pairs.
inline constexpr std::size_t kApart = 128;
// Bytes of a packet that are ever written: the header and the longest payload.
inline constexpr std::size_t kUsedBytes = kPayloadOffset + 50 + 63;

// Which slot of a store the next packet goes to; see Processor.
constexpr std::size_t slot_of(std::uint64_t seed, std::uint64_t stored, std::size_t slots) {
  if (stored < slots) return stored;
  return (draw(seed ^ 0x5DEECE66D1CE4E5BULL, stored) >> 32) * slots >> 32;
}

// Its owner is the thread that obtained it; index and next are for pools.
template <class Layout>
struct Message : Layout::Packet {
  using Of = Layout;
  Message* next = nullptr;
  std::int32_t owner = 0;
  std::int32_t index = -1;
};

template <class M>
void fill(M* message, std::uint64_t seed, std::uint64_t sequence) {
  write_header(M::Of::header(message), drawn_fields(seed, sequence));
  std::memcpy(M::Of::payload(message), &sequence, sizeof sequence);
}

// Of what was parsed and of the sequence number that is in the buffer now: to be added up in any order.
template <class M>
std::uint64_t hash(M* message) {
  std::uint64_t sequence;
  std::memcpy(&sequence, M::Of::payload(message), sizeof sequence);
  return draw(fold(0, M::Of::fields(message)), sequence);
}

// Layouts `heap`, where parsing makes objects, and `flat`, where it makes none; the buffer is a part of its packet.
using HeapMessage = Message<AllocatingLayout<New, true>>;
using FlatMessage = Message<FlatLayout<New, true, false, false, false>>;

}  // namespace allocpool::threads
