// Layout `slab`: all packets in one contiguous region, made at the start; a packet is its index there.
//
// The region has two parts, front and back, and the steps decide what of a packet lies where:
//
//                      front, one slot per packet                 back, one slot per packet
//   contiguous         buffer, 1024 bytes                         parse result
//   + stride           buffer, 1088 bytes apart                   parse result
//   + one_line         line, then buffer, 1024 bytes together     the buffer's end, for which the slot has no room
//   + both             line, 64 bytes apart                       the buffer without its header
//
// A line is 64 bytes: header and parse result. Headers 1024 bytes apart share 4 of the 64 sets of a usual first-level
// cache. Each packet has its 1024 bytes of buffer in every variant, all of them resident, though the payload is read only
// where that is asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "allocpool.h"
#include "packets/packet_format.hpp"
#include "packets/packet_object.hpp"
#include "packets/steps.hpp"

namespace allocpool {

template <class Memory, bool kOneLine, bool kStride, bool kPrefetched>
class SlabLayout {
  struct Result {
    Fields fields;
    const std::uint8_t* payload;
  };

  static constexpr std::size_t kResultOffset = 24;  // behind the header's 20 bytes
  static_assert(kResultOffset >= kPayloadOffset && kResultOffset + sizeof(Result) <= kLineBytes);

  static constexpr std::size_t kFrontBytes = kOneLine && kStride ? kLineBytes
                                             : kStride           ? kBufferBytes + kLineBytes
                                                                 : kBufferBytes;
  static constexpr std::size_t kBackBytes = !kOneLine ? 32 : kStride ? kBufferBytes : kLineBytes;
  static_assert(sizeof(Result) <= 32);

 public:
  using Handle = std::uint32_t;
  static constexpr Handle kNone = 0xFFFFFFFFU;
  // Fewer packets take less time than an access to memory; 64 bought no more than 32.
  static constexpr std::size_t kPrefetch = kPrefetched ? 32 : 0;
  static constexpr std::size_t kPacketBytes = kFrontBytes + kBackBytes;
  static constexpr std::size_t kPayloadBytes =
      kOneLine && !kStride ? kBufferBytes - kLineBytes : kBufferBytes - kPayloadOffset;

  SlabLayout(std::int64_t slots, bool huge_pages)
      : slots_(static_cast<Handle>(slots)),
        region_(slots_ * (kFrontBytes + kBackBytes), huge_pages),
        front_(region_.data()),
        back_(front_ + slots_ * kFrontBytes) {}

  // Slots are handed out once, before the start.
  Handle construct() {
    if (next_ == slots_) throw std::bad_alloc();
    new (result(next_)) Result{};
    return next_++;
  }
  void destroy(Handle) {}

  std::uint8_t* header(Handle packet) const { return front_ + packet * kFrontBytes; }

  Fields parse(Handle packet) {
    const Fields read = read_header(header(packet));
    *result(packet) = {read, payload(packet)};
    return read;
  }

  // A free packet has no parse result.
  void release(Handle packet) { result(packet)->payload = nullptr; }

  // The payload's first bytes, kPayloadBytes together.
  std::uint8_t* payload(Handle packet) const {
    if constexpr (!kOneLine) return header(packet) + kPayloadOffset;
    return kStride ? back_ + packet * kBackBytes : header(packet) + kLineBytes;
  }

  bool is_parsed(Handle packet) const { return result(packet)->payload != nullptr; }

  Fields fields(Handle packet) const { return result(packet)->fields; }

  // Fetches what parsing will touch.
  __attribute__((always_inline)) void prefetch(Handle packet) const {
    __builtin_prefetch(header(packet), 1);
    if constexpr (!kOneLine) __builtin_prefetch(result(packet), 1);
  }

  ap_region region() const { return {region_.data(), static_cast<std::int64_t>(region_.bytes())}; }

 private:
  Result* result(Handle packet) const {
    return reinterpret_cast<Result*>(kOneLine ? header(packet) + kResultOffset : back_ + packet * kBackBytes);
  }

  const Handle slots_;
  const typename Memory::Whole region_;
  std::uint8_t* const front_;
  std::uint8_t* const back_;
  Handle next_ = 0;
};

struct Slab {
  static constexpr std::string_view kName = "slab";
  static constexpr Ladder kLadder{"contiguous", "one_line,stride,huge_pages,prefetch", true, ""};
  static constexpr std::array kSwitches{&Steps::one_line, &Steps::stride, &Steps::prefetch};
  template <class Memory, bool... kSteps>
  static constexpr bool kMakesSense = true;
  template <class Memory, bool... kSteps>
  using With = SlabLayout<Memory, kSteps...>;
};

}  // namespace allocpool
