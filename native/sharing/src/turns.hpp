// Threads that take turns, so that what the simulated cache sees is the same at every run: one of them runs, for a number of
// accesses that a seeded generator draws, and then the next one.
#pragma once

#include <semaphore.h>

#include <array>
#include <cstdint>

#include "cache.hpp"

namespace allocpool::sharing {

class Turns {
 public:
  // `turn`: accesses until the next one's turn, in the mean.
  Turns(Cache& cache, std::int64_t turn, std::uint64_t seed);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Begins with the first of so many threads, once it has entered. Called by none of them.
  void begin(int threads);

  // This thread is number `thread` from now on; returns when it is its turn.
  void enter(int thread);

  // It was; the others go on without it.
  void leave();

  // The next one's turn.
  void pass();

  // Where its turn is over, the next one's. Its next access is then sure to be made before any other.
  void due() {
    if (left_ <= 0) pass();
  }

  // An access of this thread, which it makes as soon as this returns.
  void access(Place place, std::uintptr_t address, std::size_t bytes, Kind kind) {
    due();
    --left_;
    cache_.access(current_, place, address, bytes, kind);
  }

 private:
  void hand_over();

  Cache& cache_;
  const std::int64_t turn_;
  std::uint64_t random_;
  std::array<sem_t, kMostThreads> may_run_;
  std::array<bool, kMostThreads> takes_part_{};
  int threads_ = 0;
  int current_ = 0;
  std::int64_t left_ = 0;
};

// Those that this thread takes part in, or null: then nothing that it does is simulated.
Turns* turns_of_this_thread();

// Of the run, for teams that are made in it.
Turns* current_turns();
void set_current_turns(Turns* turns);

}  // namespace allocpool::sharing
