// The packet on the wire: a header of 17 bytes in network byte order at the start of the buffer, then the payload. How it
// is written, and what a parser reads back.
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

// What a parser read out of a packet. Addresses and ports in host byte order, length in bytes.
struct Fields {
  std::uint32_t source;
  std::uint32_t destination;
  std::uint16_t source_port;
  std::uint16_t destination_port;
  std::uint16_t length;
  std::uint8_t transport;
};

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

}  // namespace allocpool
