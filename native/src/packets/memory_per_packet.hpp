// What memories have in common that are tried in place of `new`, one packet for each message: a pool of packets between
// message and memory would hide them.
#pragma once

#include <string_view>

namespace allocpool {

struct PerPacket {
  static constexpr bool kGivesObjects = true;
  static constexpr bool kAligns = false;
  template <class Strategy>
  static constexpr bool kServes = Strategy::kConstructs && !Strategy::kPooled;
  static constexpr std::string_view kWhyNotOthers = " (this memory is tried where each message asks it for a packet)";
};

}  // namespace allocpool
