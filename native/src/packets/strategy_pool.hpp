// Strategies `mix` and `pool`: a stack of packets, full at the start, last in first out. A packet is constructed when
// the stack is empty and dropped when it does not fit back. They differ only in the size that the registry lets
// pass: a pool that is never empty constructs nothing. Strategy `alloc` is the same with a pool of none.
//
// kFifo: the pool is a ring, first in first out: packets are obtained at its head and given back at its tail, so that all
// that it holds come round, where of a stack only as many do as are in use at once.
//
// The stack's top is what was just freed, so there is nothing to prefetch; doing it all the same bought nothing.
//
// Aged, the packets lie in the order that long use brings about (ageing.hpp). So do those that the heap gives: as many as
// will be out at once are made before the start, and what the pool does not hold of them is handed out first in place of
// fresh ones. To free them all in that order would not do: glibc joins neighbours that are free, and is young again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "packets/ageing.hpp"
#include "packets/packet_format.hpp"
#include "packets/workload.hpp"

namespace allocpool {

template <class Layout, bool kFifo = false>
class PoolStrategy {
 public:
  using Handle = typename Layout::Handle;
  static constexpr bool kShared = false;

  PoolStrategy(Layout& layout, const Stock& stock)
      : layout_(layout),
        capacity_(static_cast<std::size_t>(stock.pool_size)),
        prepared_(static_cast<std::size_t>(stock.prepared)),
        size_(capacity_) {
    stack_.reserve(prepared_);
    try {
      for (std::size_t i = 0; i < prepared_; ++i) {
        stack_.push_back(layout_.construct());
        if (stock.aged) leave_traces(stack_.back());
      }
    } catch (...) {
      for (const Handle packet : stack_) layout_.destroy(packet);
      throw;
    }
    if (!stock.aged) return;
    age(stack_.data(), prepared_, stock.seed);
    for (const Handle packet : stack_) layout_.release(packet);
  }

  // The stack's top during a window of receiving; see Processor::Run.
  class Run {
   public:
    explicit Run(PoolStrategy& pool)
        : pool_(pool),
          stack_(pool.stack_.data()),
          capacity_(pool.capacity_),
          size_(pool.size_),
          head_(pool.head_),
          constructed_(pool.constructed_),
          discarded_(pool.discarded_) {}
    ~Run() {
      pool_.size_ = size_;
      pool_.head_ = head_;
      pool_.constructed_ = constructed_;
      pool_.discarded_ = discarded_;
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    Handle obtain() {
      if (size_ > 0) {
        --size_;
        if constexpr (!kFifo) return stack_[size_];
        const Handle first = stack_[head_];
        if (++head_ == capacity_) head_ = 0;
        return first;
      }
      if (pool_.stack_.size() > capacity_) return pool_.beyond();
      const Handle packet = pool_.layout_.construct();
      ++constructed_;
      return packet;
    }

    void give_back(Handle packet) {
      if (size_ == capacity_) {
        pool_.layout_.destroy(packet);
        ++discarded_;
      } else {
        stack_[kFifo ? wrapped(head_ + size_) : size_] = packet;
        ++size_;
      }
    }

   private:
    std::size_t wrapped(std::size_t place) const { return place < capacity_ ? place : place - capacity_; }

    PoolStrategy& pool_;
    Handle* const stack_;
    const std::size_t capacity_;
    std::size_t size_;
    std::size_t head_;  // of a ring
    std::int64_t constructed_;
    std::int64_t discarded_;
  };

  std::int64_t prepared() const { return static_cast<std::int64_t>(prepared_); }
  std::int64_t constructed() const { return constructed_; }
  std::int64_t discarded() const { return discarded_; }

  template <class Visit>
  void each_pooled(Visit visit) const {
    for (std::size_t i = 0; i < size_; ++i) visit(stack_[kFifo ? (head_ + i) % capacity_ : i]);
    for (std::size_t i = capacity_; i < stack_.size(); ++i) visit(stack_[i]);
  }

 private:
  // What parsing makes comes from the heap as well, and leaves a gap there.
  void leave_traces(Handle packet) {
    write_header(layout_.header(packet), Fields{});
    layout_.parse(packet);
  }

  // One of those that were made before the start and had no room in the pool.
  Handle beyond() {
    const Handle packet = stack_.back();
    stack_.pop_back();
    return packet;
  }

  Layout& layout_;
  // The pool, and behind its capacity what the heap gives before it makes more.
  std::vector<Handle> stack_;
  const std::size_t capacity_;
  const std::size_t prepared_;
  std::size_t size_;
  std::size_t head_ = 0;
  std::int64_t constructed_ = 0;
  std::int64_t discarded_ = 0;
};

struct Mix {
  static constexpr std::string_view kName = "mix";
  static constexpr bool kPooled = true;
  static constexpr bool kConstructs = true;
  template <class Layout, bool kFifo = false>
  using With = PoolStrategy<Layout, kFifo>;
};

struct Pool {
  static constexpr std::string_view kName = "pool";
  static constexpr bool kPooled = true;
  static constexpr bool kConstructs = false;
  template <class Layout, bool kFifo = false>
  using With = PoolStrategy<Layout, kFifo>;
};

}  // namespace allocpool
