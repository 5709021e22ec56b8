#include "turns.hpp"

#include "splitmix.hpp"

namespace allocpool::sharing {
namespace {

thread_local Turns* mine = nullptr;
Turns* of_the_run = nullptr;

void wait(sem_t& semaphore) {
  while (sem_wait(&semaphore) != 0) {
  }
}

}  // namespace

Turns* turns_of_this_thread() { return mine; }
Turns* current_turns() { return of_the_run; }
void set_current_turns(Turns* turns) { of_the_run = turns; }

Turns::Turns(Cache& cache, std::int64_t turn, std::uint64_t seed) : cache_(cache), turn_(turn), random_(seed) {
  for (sem_t& semaphore : may_run_) sem_init(&semaphore, 0, 0);
}

Turns::~Turns() {
  for (sem_t& semaphore : may_run_) sem_destroy(&semaphore);
}

void Turns::begin(int threads) {
  threads_ = threads;
  for (int k = 0; k < threads; ++k) takes_part_[static_cast<std::size_t>(k)] = true;
  current_ = threads - 1;
  hand_over();
}

void Turns::enter(int thread) {
  wait(may_run_[static_cast<std::size_t>(thread)]);
  mine = this;
}

void Turns::leave() {
  mine = nullptr;
  takes_part_[static_cast<std::size_t>(current_)] = false;
  hand_over();
}

void Turns::pass() {
  const auto me = static_cast<std::size_t>(current_);
  hand_over();
  wait(may_run_[me]);
}

void Turns::hand_over() {
  left_ = 1 + static_cast<std::int64_t>(draw(random_++, 0) % static_cast<std::uint64_t>(2 * turn_ - 1));
  for (int tried = 0; tried < threads_; ++tried) {
    current_ = current_ + 1 == threads_ ? 0 : current_ + 1;
    if (!takes_part_[static_cast<std::size_t>(current_)]) continue;
    sem_post(&may_run_[static_cast<std::size_t>(current_)]);
    return;
  }
}

}  // namespace allocpool::sharing
