// The one place that knows which layouts and strategies there are.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "packets/workload.hpp"

namespace allocpool {

// A request that cannot be met; what() is the one line that the user reads.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

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
