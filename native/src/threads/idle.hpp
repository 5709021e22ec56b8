// What a thread does that waits for another one.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace allocpool::threads {

// Whether the trial has failed, and how: the first failure of any thread.
class Stop {
 public:
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = failure;
    failed_.store(true, std::memory_order_release);
  }

  void check() const {
    if (failed_.load(std::memory_order_acquire)) throw std::runtime_error("another thread failed");
  }

  void rethrow() const {
    if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
  }

 private:
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

// It looks again at once, then lets others run, then sleeps.
class Idle {
 public:
  explicit Idle(const Stop& stop) : stop_(stop) {}

  void rest() {
    stop_.check();
    if (rests_ < 64) {
#if defined(__x86_64__)
      _mm_pause();
#endif
    } else if (rests_ < 80) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    ++rests_;
  }

  void reset() { rests_ = 0; }

 private:
  const Stop& stop_;
  int rests_ = 0;
};

}  // namespace allocpool::threads
