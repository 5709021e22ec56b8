// Strategies `mix` and `pool`: a stack of packets, full at the start, last in first out. A packet is constructed when
// the stack is empty and dropped when it does not fit back. The two differ only in the size that the registry lets
// pass: a pool that is never empty constructs nothing.
//
// The stack's top is what was just freed, so there is nothing to prefetch; doing it all the same bought nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace allocpool {

template <class Layout>
class PoolStrategy {
 public:
  using Handle = typename Layout::Handle;
  static constexpr bool kShared = false;

  PoolStrategy(Layout& layout, std::int64_t pool_size)
      : layout_(layout), stack_(static_cast<std::size_t>(pool_size)), capacity_(stack_.size()), size_(capacity_) {
    for (Handle& slot : stack_) slot = layout_.construct();
  }

  // The stack's top during a stretch of receiving; see Processor::Run.
  class Run {
   public:
    explicit Run(PoolStrategy& pool)
        : pool_(pool), stack_(pool.stack_.data()), capacity_(pool.capacity_), size_(pool.size_) {}
    ~Run() { pool_.size_ = size_; }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    Handle obtain() {
      if (size_ == 0) {
        ++pool_.constructed_;
        return pool_.layout_.construct();
      }
      return stack_[--size_];
    }

    void give_back(Handle packet) {
      if (size_ == capacity_) {
        ++pool_.discarded_;
        pool_.layout_.destroy(packet);
      } else {
        stack_[size_++] = packet;
      }
    }

   private:
    PoolStrategy& pool_;
    Handle* const stack_;
    const std::size_t capacity_;
    std::size_t size_;
  };

  std::int64_t constructed() const { return constructed_; }
  std::int64_t discarded() const { return discarded_; }

  template <class Visit>
  void each_pooled(Visit visit) const {
    for (std::size_t i = 0; i < size_; ++i) visit(stack_[i]);
  }

 private:
  Layout& layout_;
  std::vector<Handle> stack_;
  const std::size_t capacity_;
  std::size_t size_;
  std::int64_t constructed_ = 0;
  std::int64_t discarded_ = 0;
};

struct Mix {
  static constexpr std::string_view kName = "mix";
  static constexpr bool kPooled = true;
  static constexpr bool kConstructs = true;
  template <class Layout>
  using With = PoolStrategy<Layout>;
};

struct Pool {
  static constexpr std::string_view kName = "pool";
  static constexpr bool kPooled = true;
  static constexpr bool kConstructs = false;
  template <class Layout>
  using With = PoolStrategy<Layout>;
};

}  // namespace allocpool
