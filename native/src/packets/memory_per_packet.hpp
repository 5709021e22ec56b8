// What memories have in common that are tried in place of `new`, one packet for each message: a pool of packets between
// message and memory would hide them.
#pragma once

namespace allocpool {

struct PerPacket {
  static constexpr bool kGivesObjects = true;
  static constexpr bool kAligns = false;
};

}  // namespace allocpool
