// A workload whose sharing is known: two threads that add to counters.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allocpool::sharing {

inline constexpr std::int64_t kFurthest = 192;

// Each thread adds one to its counter so many times; the counters are so many bytes apart.
void add_in_turns(std::size_t apart, std::int64_t rounds);

}  // namespace allocpool::sharing
