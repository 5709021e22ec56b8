// The one place that knows which layouts, strategies and memories there are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "packets/workload.hpp"

namespace allocpool {

// One of each axis.
struct Combination {
  std::string_view layout;
  std::string_view strategy;
  std::string_view memory;
};

// All that make sense, of the same layout and memory one after the other.
[[nodiscard]] std::vector<Combination> combinations();

// Comma-separated names.
[[nodiscard]] const std::string& layout_names();
[[nodiscard]] const std::string& strategy_names();
[[nodiscard]] const std::string& memory_names();

// Throws UserError when a name, a size or the memory needed is out of bounds. `memory` is empty for the first that the
// layout takes.
[[nodiscard]] std::unique_ptr<Workload> make_workload(std::string_view layout, std::string_view strategy,
                                                      std::string_view memory, const Settings& settings);

}  // namespace allocpool
