// The C face: a trial of the packets workload on threads that take turns, before the simulated cache.
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "allocpool_sharing.h"
#include "c_api.hpp"
#include "cache.hpp"
#include "counters.hpp"
#include "threads/workload.hpp"
#include "turns.hpp"

namespace c_api = allocpool::c_api;
namespace sharing = allocpool::sharing;
namespace threads = allocpool::threads;

namespace {

// A team that is made while this lives takes these turns.
struct Run {
  Run(std::int64_t turn, std::uint64_t seed) : turns(cache, turn, seed) { sharing::set_current_turns(&turns); }
  ~Run() { sharing::set_current_turns(nullptr); }

  sharing::Cache cache;
  sharing::Turns turns;
};

const ap_sharing_misses& of(const std::array<ap_sharing_misses, sharing::kPlaces>& counts, sharing::Place place) {
  return counts[static_cast<std::size_t>(place)];
}

}  // namespace

int ap_sharing_run(const ap_sharing_config* config, ap_sharing_outcome* outcome, char* error, size_t error_bytes) {
  return c_api::status<int>({error, error_bytes}, [&] {
    const ap_sharing_config& asked = c_api::at(config);
    c_api::require(asked.threads < sharing::kMostThreads, "threads are more than 15, which is the most that is simulated");
    c_api::require(asked.fill >= 1 && asked.packets >= 1 && asked.turn >= 1, "fill, packets and turn are 1 or more");
    Run run(asked.turn, asked.seed);
    const threads::Sizes sizes{asked.threads,      asked.pool_size, asked.queue_size,
                               asked.stored_count, asked.seed,      asked.padded != 0};
    const std::unique_ptr<threads::Workload> workload = threads::make_workload(
        &c_api::at(asked.topology), &c_api::at(asked.layout), &c_api::at(asked.strategy), sizes);
    workload->run(asked.fill);
    run.cache.forget_counts();
    workload->run(asked.packets);
    const std::array<ap_sharing_misses, sharing::kPlaces> misses = run.cache.counts();
    c_api::require(!run.cache.overflowed(), "the simulated cache has no room for so many lines: choose smaller sizes");
    workload->drain();
    const std::string fault = workload->audit();
    c_api::require(fault.empty(), fault.c_str());
    const ap_threads_counts counts = workload->counts();
    c_api::at(outcome) = {of(misses, sharing::Place::ring),
                          of(misses, sharing::Place::pool),
                          of(misses, sharing::Place::message),
                          of(misses, sharing::Place::other),
                          counts.received,
                          counts.freed,
                          counts.remote_frees,
                          workload->checksum()};
  });
}

int ap_sharing_counters(int64_t apart, int64_t rounds, ap_sharing_misses* misses, char* error, size_t error_bytes) {
  return c_api::status<int>({error, error_bytes}, [&] {
    c_api::require(apart >= 0 && apart <= sharing::kFurthest && apart % 8 == 0, "apart is 0 to 192, a multiple of 8");
    c_api::require(rounds >= 1, "rounds are 1 or more");
    Run run(1, 0);
    sharing::add_in_turns(static_cast<std::size_t>(apart), rounds);
    c_api::at(misses) = of(run.cache.counts(), sharing::Place::other);
  });
}
