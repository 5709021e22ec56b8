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

// The strategies of one layout; empty for an unknown one.
std::string strategy_names_of(const std::string& layout);

// Throws UserError when a name, a size or the memory needed is out of bounds. `steps` are those of layout slab, comma-
// separated; null for all of them, and for the other layouts.
std::unique_ptr<Workload> make_workload(const std::string& layout, const std::string& strategy, const Sizes& sizes,
                                        std::uint64_t seed, const char* steps = nullptr);

}  // namespace allocpool
