#include "counters.hpp"

#include <array>
#include <atomic>

#include "threads/team.hpp"

namespace allocpool::sharing {

void add_in_turns(std::size_t apart, std::int64_t rounds) {
  struct alignas(64) Counters {
    std::array<std::atomic<std::int64_t>, kFurthest / 8 + 1> of;
  };
  static Counters counters;
  threads::Stop stop;
  threads::Team team(2, stop);
  team.run([&](int thread) {
    std::atomic<std::int64_t>& mine = counters.of[apart / 8 * static_cast<std::size_t>(thread)];
    for (std::int64_t i = 0; i < rounds; ++i) mine.fetch_add(1, std::memory_order_relaxed);
  });
}

}  // namespace allocpool::sharing
