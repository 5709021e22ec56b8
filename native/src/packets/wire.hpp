// The packet on the wire: what a sequence number draws, how it is written, what a parser reads back.
//
// The content is a pure function of (seed, sequence): SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom
// Number Generators", OOPSLA 2014) used counter-based, so that a receiver that lost packets draws the same as one that
// lost none. The Java workload draws the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allocpool {

inline constexpr std::size_t kBufferBytes = 1024;
inline constexpr std::size_t kPayloadOffset = 20;
inline constexpr std::uint16_t kProtocolMarker = 0x0800;
inline constexpr std::uint8_t kTcp = 6;
inline constexpr std::uint8_t kUdp = 17;

inline constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

constexpr std::uint64_t splitmix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// The n-th draw (n from 0) of the stream that `seed` names.
constexpr std::uint64_t draw(std::uint64_t seed, std::uint64_t n) { return splitmix(seed + (n + 1) * kGolden); }

// The store's replacement slots are a stream of their own.
constexpr std::uint64_t store_seed(std::uint64_t seed) { return seed ^ 0x5DEECE66D1CE4E5BULL; }

// What a parser read out of a packet. Addresses and ports in host byte order, length in bytes.
struct Fields {
  std::uint32_t source;
  std::uint32_t destination;
  std::uint16_t source_port;
  std::uint16_t destination_port;
  std::uint16_t length;
  std::uint8_t transport;
};

constexpr Fields drawn_fields(std::uint64_t seed, std::uint64_t sequence) {
  const std::uint64_t r = draw(seed, sequence);
  return Fields{0x0A000000U + static_cast<std::uint32_t>(r & 1023U),
                0x0A010000U + static_cast<std::uint32_t>((r >> 10) & 1023U),
                static_cast<std::uint16_t>(1024U + ((r >> 20) & 1023U)),
                static_cast<std::uint16_t>(1024U + ((r >> 30) & 1023U)),
                static_cast<std::uint16_t>(50U + ((r >> 44) & 63U)),
                ((r >> 40) & 15U) == 0 ? kTcp : kUdp};
}

// Network byte order.
constexpr std::uint32_t network_order(std::uint32_t value) {
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(value) : value;
}

constexpr std::uint64_t network_order(std::uint64_t value) {
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(value) : value;
}

template <class Unsigned>
void put(std::uint8_t* at, Unsigned value) {
  const Unsigned wire = network_order(value);
  std::memcpy(at, &wire, sizeof wire);
}

template <class Unsigned>
Unsigned get(const std::uint8_t* at) {
  Unsigned wire;
  std::memcpy(&wire, at, sizeof wire);
  return network_order(wire);
}

// The header's 17 bytes; nothing else of the buffer is written. Neighbouring fields go in one store, and a parser reads
// them back in the same widths: a processor stalls when it must join two fresh stores into one load.
inline void write_header(std::uint8_t* buffer, const Fields& fields) {
  put(buffer, std::uint32_t{kProtocolMarker} << 16 | fields.length);
  put(buffer + 4, std::uint64_t{fields.source} << 32 | fields.destination);
  put(buffer + 12, std::uint32_t{fields.source_port} << 16 | fields.destination_port);
  buffer[16] = fields.transport;
}

inline bool has_marker(const std::uint8_t* buffer) { return get<std::uint32_t>(buffer) >> 16 == kProtocolMarker; }

inline Fields read_header(const std::uint8_t* buffer) {
  const auto addresses = get<std::uint64_t>(buffer + 4);
  const auto ports = get<std::uint32_t>(buffer + 12);
  return Fields{static_cast<std::uint32_t>(addresses >> 32), static_cast<std::uint32_t>(addresses),
                static_cast<std::uint16_t>(ports >> 16),     static_cast<std::uint16_t>(ports),
                static_cast<std::uint16_t>(get<std::uint32_t>(buffer)), buffer[16]};
}

constexpr std::uint64_t rotate_left(std::uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

// Folds one parse result into the running checksum.
constexpr std::uint64_t fold(std::uint64_t checksum, const Fields& fields) {
  const std::uint64_t a = std::uint64_t{fields.source} << 32 | fields.destination;
  const std::uint64_t b = std::uint64_t{fields.source_port} << 48 | std::uint64_t{fields.destination_port} << 32 |
                          std::uint64_t{fields.transport} << 16 | fields.length;
  return checksum * 0xD1342543DE82EF95ULL + ((a * kGolden) ^ rotate_left(b * 0xC2B2AE3D27D4EB4FULL, 32));
}

}  // namespace allocpool
