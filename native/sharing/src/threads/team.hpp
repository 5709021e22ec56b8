// Found in place of the team of trials: the same, whose threads take turns.
#pragma once

#define Team PlainTeam
#include "../../../src/threads/team.hpp"
#undef Team

#include "turns.hpp"

namespace allocpool::threads {

class Team : private PlainTeam {
 public:
  Team(int size, Stop& stop) : PlainTeam(size, stop), size_(size), turns_(*sharing::current_turns()) {}

  void run(const Task& task) {
    turns_.begin(size_);
    PlainTeam::run([&](int k) {
      const Turn turn(turns_, k);
      task(k);
    });
  }

 private:
  struct Turn {
    Turn(sharing::Turns& all, int thread) : turns(all) { turns.enter(thread); }
    ~Turn() { turns.leave(); }
    sharing::Turns& turns;
  };

  const int size_;
  sharing::Turns& turns_;
};

}  // namespace allocpool::threads
