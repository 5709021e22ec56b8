// Threads that stay: they all run one task after the other, and rest between.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "os/thread.hpp"
#include "threads/idle.hpp"

namespace allocpool::threads {

class Team {
 public:
  using Task = std::function<void(int)>;

  Team(int size, Stop& stop) : stop_(stop), size_(size) {
    for (int i = 0; i < size; ++i) threads_.emplace_back([this, i] { live(i); });
  }

  ~Team() {
    {
      const std::lock_guard lock(mutex_);
      task_ = nullptr;
      ++turn_;
    }
    start_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Each thread runs the task with its number, from 0; returns when all have. Rethrows the first failure.
  void run(const Task& task) {
    std::unique_lock lock(mutex_);
    task_ = &task;
    working_ = size_;
    ++turn_;
    start_.notify_all();
    end_.wait(lock, [this] { return working_ == 0; });
    stop_.rethrow();
  }

 private:
  void live(int number) {
    os::name_this_thread(("allocpool-" + std::to_string(number)).c_str());
    int seen = 0;
    while (true) {
      const Task* task;
      {
        std::unique_lock lock(mutex_);
        start_.wait(lock, [&] { return turn_ != seen; });
        seen = turn_;
        task = task_;
      }
      if (task == nullptr) return;
      try {
        (*task)(number);
      } catch (...) {
        stop_.fail(std::current_exception());
      }
      const std::lock_guard lock(mutex_);
      if (--working_ == 0) end_.notify_one();
    }
  }

  Stop& stop_;
  const int size_;
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable end_;
  const Task* task_ = nullptr;
  int turn_ = 0;
  int working_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace allocpool::threads
