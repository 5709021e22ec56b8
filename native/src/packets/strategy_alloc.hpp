// Strategy `alloc`: a fresh packet for every message, deleted when it is freed: a pool that holds none.
#pragma once

#include <string_view>

#include "packets/strategy_pool.hpp"

namespace allocpool {

struct Alloc {
  static constexpr std::string_view kName = "alloc";
  static constexpr bool kPooled = false;
  static constexpr bool kConstructs = true;
  template <class Layout>
  using With = PoolStrategy<Layout>;
};

}  // namespace allocpool
