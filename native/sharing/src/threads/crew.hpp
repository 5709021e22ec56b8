// Found in place of the crew of trials: the same, whose threads take turns.
#pragma once

#define Crew PlainCrew
#include "../../../src/threads/crew.hpp"
#undef Crew

#include "turns.hpp"

namespace allocpool::threads {

class Crew : private PlainCrew {
 public:
  Crew(int size, Stop& stop) : PlainCrew(size, stop), size_(size), turns_(*sharing::current_turns()) {}

  void run(const Task& task) {
    turns_.begin(size_);
    PlainCrew::run([&](int k) {
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
