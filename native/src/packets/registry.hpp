// The one place that knows which layouts and strategies there are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "packets/workload.hpp"

namespace allocpool {

// Comma-separated names.
const std::string& layout_names();
const std::string& strategy_names();

// Throws UserError when a name, a size or the memory needed is out of bounds.
std::unique_ptr<Workload> make_workload(const std::string& layout, const std::string& strategy, const Sizes& sizes,
                                        std::uint64_t seed);

}  // namespace allocpool
