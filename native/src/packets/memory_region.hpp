// Memory `region`: one region for all packets, straight from the kernel, all of it there at the start.
#pragma once

#include <string_view>

#include "os/region.hpp"

namespace allocpool {

struct Region {
  static constexpr std::string_view kName = "region";
  static constexpr bool kGivesObjects = false;
  static constexpr bool kAligns = true;

  using Whole = os::Region;
};

}  // namespace allocpool
