// A bounded queue from one thread to one other; a slot that is not null is full, so the two share no index. Source:
// Giacomoni, Moseley, Vachharajani, "FastForward for Efficient Pipeline Parallelism", PPoPP 2008.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "threads/message.hpp"

namespace allocpool::threads {

inline std::size_t power_of_two(std::size_t least) {
  std::size_t size = 2;
  while (size < least) size *= 2;
  return size;
}

template <class M>
class SpscRing {
 public:
  // For at least so many messages.
  explicit SpscRing(std::size_t capacity) : slots_(power_of_two(capacity)), mask_(slots_.size() - 1) {}

  bool offer(M* message) {
    std::atomic<M*>& slot = slots_[tail_ & mask_];
    if (slot.load(std::memory_order_acquire) != nullptr) return false;
    slot.store(message, std::memory_order_release);
    ++tail_;
    return true;
  }

  M* poll() {
    std::atomic<M*>& slot = slots_[head_ & mask_];
    M* const message = slot.load(std::memory_order_acquire);
    if (message == nullptr) return nullptr;
    slot.store(nullptr, std::memory_order_release);
    ++head_;
    return message;
  }

  // Visits what waits, when both threads rest.
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t at = head_; at != tail_; ++at) visit(slots_[at & mask_].load());
  }

 private:
  std::vector<std::atomic<M*>> slots_;
  const std::size_t mask_;
  alignas(kApart) std::size_t tail_ = 0;
  alignas(kApart) std::size_t head_ = 0;
};

}  // namespace allocpool::threads
