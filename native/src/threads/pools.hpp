// The strategies: where messages come from and go to.
//
// What a pool says: its name, and whether it copies what is kept (see Way). What it gives: a constructor that takes Setup;
// user(thread), called by each thread once, whose User has poll(ring), a free message or none, and offer(message), whether
// there was a place for it; each_free, which visits all free messages when the threads rest; prepared, how many there were
// at the start. Messages beyond what is pooled are made and deleted by Way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "threads/idle.hpp"
#include "threads/message.hpp"
#include "threads/spsc_ring.hpp"

namespace allocpool::threads {

struct Setup {
  std::size_t prepared;  // messages in the pool at the start
  int workers;
  bool has_receiver;     // one more thread, the last, obtains everything
  std::size_t per_ring;  // messages that can be at a worker and on their way to it
  const Stop* stop;

  int users() const { return workers + (has_receiver ? 1 : 0); }
};

template <class M>
std::vector<M*> make(std::size_t count) {
  std::vector<M*> made;
  made.reserve(count);
  for (std::size_t i = 0; i < count; ++i) made.push_back(new M);
  return made;
}

// `alloc`: none at all.
template <class M>
class AllocPool {
 public:
  static constexpr std::string_view kName = "alloc";
  static constexpr bool kCopies = false;
  explicit AllocPool(const Setup&) {}

  struct User {
    M* poll(int) { return nullptr; }
    bool offer(M*) { return false; }
  };
  User user(int) { return {}; }
  static std::size_t prepared() { return 0; }
  template <class Visit>
  void each_free(Visit) const {}
};

// `locked`: one stack for all threads, under a lock.
template <class M>
class LockedPool {
 public:
  static constexpr std::string_view kName = "locked";
  static constexpr bool kCopies = false;
  explicit LockedPool(const Setup& setup) : prepared_(setup.prepared), stack_(make<M>(setup.prepared)) {
    stack_.reserve(2 * prepared_);
  }

  struct User {
    LockedPool& pool;

    M* poll(int) {
      const std::lock_guard lock(pool.mutex_);
      if (pool.stack_.empty()) return nullptr;
      M* const message = pool.stack_.back();
      pool.stack_.pop_back();
      return message;
    }

    bool offer(M* message) {
      const std::lock_guard lock(pool.mutex_);
      if (pool.stack_.size() >= 2 * pool.prepared_) return false;
      pool.stack_.push_back(message);
      return true;
    }
  };
  User user(int) { return {*this}; }
  std::size_t prepared() const { return prepared_; }
  template <class Visit>
  void each_free(Visit visit) const {
    for (M* const message : stack_) visit(message);
  }

 private:
  const std::size_t prepared_;
  std::mutex mutex_;
  std::vector<M*> stack_;
};

// Nothing happens between reading the head and exchanging it; tests let others overtake there.
struct Undisturbed {
  static void between() {}
};

// `stack`: Treiber's lock-free stack of indexes into a table. The head holds a tag that changes with every exchange, so one
// that went away and came back in the meantime (ABA) is another one. Source: Treiber, "Systems Programming: Coping with
// Parallelism", IBM RJ 5118, 1986.
template <class M, bool kTagged = true, class Between = Undisturbed>
class StackPool {
 public:
  static constexpr std::string_view kName = "stack";
  static constexpr bool kCopies = false;
  explicit StackPool(const Setup& setup)
      : prepared_(setup.prepared), table_(2 * setup.prepared), below_(2 * setup.prepared) {
    for (M* const message : make<M>(prepared_)) push(message);
  }

  M* pop() {
    std::uint64_t seen = head_.load(std::memory_order_acquire);
    while (true) {
      const auto index = static_cast<std::uint32_t>(seen);
      if (index == kNone) return nullptr;
      const std::uint32_t under = below_[index].load(std::memory_order_relaxed);
      Between::between();
      if (head_.compare_exchange_weak(seen, tagged(seen, under), std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        return table_[index];
      }
    }
  }

  bool push(M* message) {
    if (message->index < 0) {
      const std::size_t index = known_.fetch_add(1, std::memory_order_relaxed);
      if (index >= table_.size()) {
        known_.store(table_.size(), std::memory_order_relaxed);
        return false;
      }
      message->index = static_cast<std::int32_t>(index);
      table_[index] = message;
    }
    const auto index = static_cast<std::uint32_t>(message->index);
    std::uint64_t seen = head_.load(std::memory_order_relaxed);
    do {
      below_[index].store(static_cast<std::uint32_t>(seen), std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(seen, tagged(seen, index), std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return true;
  }

  struct User {
    StackPool& pool;
    M* poll(int) { return pool.pop(); }
    bool offer(M* message) { return pool.push(message); }
  };
  User user(int) { return {*this}; }
  std::size_t prepared() const { return prepared_; }
  template <class Visit>
  void each_free(Visit visit) const {
    std::size_t left = table_.size();
    for (auto index = static_cast<std::uint32_t>(head_.load()); index != kNone && left-- > 0;
         index = below_[index].load()) {
      visit(table_[index]);
    }
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  static std::uint64_t tagged(std::uint64_t before, std::uint32_t index) {
    return (kTagged ? ((before >> 32) + 1) << 32 : 0) | index;
  }

  const std::size_t prepared_;
  std::vector<M*> table_;
  std::vector<std::atomic<std::uint32_t>> below_;
  alignas(kApart) std::atomic<std::uint64_t> head_{kNone};
  alignas(kApart) std::atomic<std::size_t> known_{0};
};

// `mpmc`: a bounded ring for many producers and many consumers, whose slots carry a turn of their own. Source: Vyukov,
// "Bounded MPMC queue", 1024cores.net.
template <class M, std::size_t kSpacing = kApart>
class MpmcPool {
 public:
  static constexpr std::string_view kName = "mpmc";
  static constexpr bool kCopies = false;
  explicit MpmcPool(const Setup& setup)
      : prepared_(setup.prepared), slots_(power_of_two(2 * setup.prepared)), mask_(slots_.size() - 1) {
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].turn.store(i, std::memory_order_relaxed);
    for (M* const message : make<M>(prepared_)) push(message);
  }

  bool push(M* message) {
    std::size_t at = tail_.load(std::memory_order_relaxed);
    while (true) {
      Slot& slot = slots_[at & mask_];
      const auto turn = static_cast<std::ptrdiff_t>(slot.turn.load(std::memory_order_acquire) - at);
      if (turn == 0) {
        if (!tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        slot.message = message;
        slot.turn.store(at + 1, std::memory_order_release);
        return true;
      }
      // The slot's consumer may be on its way out of it: only a ring that holds all it can is full.
      // Signed: others may have taken more since `at` was read.
      const auto held = static_cast<std::ptrdiff_t>(at - head_.load(std::memory_order_acquire));
      if (turn < 0 && held >= static_cast<std::ptrdiff_t>(slots_.size())) return false;
      at = tail_.load(std::memory_order_relaxed);
    }
  }

  M* pop() {
    std::size_t at = head_.load(std::memory_order_relaxed);
    while (true) {
      Slot& slot = slots_[at & mask_];
      const auto turn = static_cast<std::ptrdiff_t>(slot.turn.load(std::memory_order_acquire) - (at + 1));
      if (turn == 0) {
        if (!head_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        M* const message = slot.message;
        slot.turn.store(at + slots_.size(), std::memory_order_release);
        return message;
      }
      if (turn < 0 && at == tail_.load(std::memory_order_acquire)) return nullptr;
      at = head_.load(std::memory_order_relaxed);
    }
  }

  struct User {
    MpmcPool& pool;
    M* poll(int) { return pool.pop(); }
    bool offer(M* message) { return pool.push(message); }
  };
  User user(int) { return {*this}; }
  std::size_t prepared() const { return prepared_; }
  template <class Visit>
  void each_free(Visit visit) const {
    for (std::size_t at = head_.load(); at != tail_.load(); ++at) visit(slots_[at & mask_].message);
  }

 private:
  struct Slot {
    std::atomic<std::size_t> turn{0};
    M* message = nullptr;
  };

  const std::size_t prepared_;
  std::vector<Slot> slots_;
  const std::size_t mask_;
  alignas(kSpacing) std::atomic<std::size_t> head_{0};
  alignas(kSpacing) std::atomic<std::size_t> tail_{0};
};

// `cached`: each thread has a cache, filled from a shared depot and flushed to it in bulk, with DPDK's flush threshold.
// Source: "Mempool Library", DPDK Programmer's Guide; Bonwick, Adams, "Magazines and Vmem", USENIX 2001.
template <class M>
class CachedPool {
  static constexpr std::size_t kCache = 256;
  static constexpr std::size_t kFlushAt = kCache * 3 / 2;

  struct alignas(kApart) Cache {
    std::vector<M*> held;
  };

 public:
  static constexpr std::string_view kName = "cached";
  static constexpr bool kCopies = false;
  explicit CachedPool(const Setup& setup) : prepared_(setup.prepared), depot_(make<M>(setup.prepared)) {
    depot_.reserve(2 * prepared_ + kFlushAt);
    for (int i = 0; i < setup.users(); ++i) caches_.push_back(std::make_unique<Cache>());
  }

  struct User {
    CachedPool& pool;
    Cache& cache;

    M* poll(int) {
      std::vector<M*>& held = cache.held;
      if (held.empty()) pool.refill(held);
      if (held.empty()) return nullptr;
      M* const message = held.back();
      held.pop_back();
      return message;
    }

    bool offer(M* message) {
      if (cache.held.size() == kFlushAt) pool.flush(cache.held);
      cache.held.push_back(message);
      return true;
    }
  };
  User user(int thread) {
    Cache& cache = *caches_[static_cast<std::size_t>(thread)];
    cache.held.reserve(kFlushAt);
    return {*this, cache};
  }
  std::size_t prepared() const { return prepared_; }
  template <class Visit>
  void each_free(Visit visit) const {
    for (M* const message : depot_) visit(message);
    for (const auto& cache : caches_) {
      for (M* const message : cache->held) visit(message);
    }
  }

 private:
  void refill(std::vector<M*>& held) {
    const std::lock_guard lock(mutex_);
    const std::size_t count = std::min(kCache, depot_.size());
    held.insert(held.end(), depot_.end() - static_cast<std::ptrdiff_t>(count), depot_.end());
    depot_.resize(depot_.size() - count);
  }

  void flush(std::vector<M*>& held) {
    const std::lock_guard lock(mutex_);
    depot_.insert(depot_.end(), held.begin() + static_cast<std::ptrdiff_t>(kCache), held.end());
    held.resize(kCache);
  }

  const std::size_t prepared_;
  std::mutex mutex_;
  std::vector<M*> depot_;
  std::vector<std::unique_ptr<Cache>> caches_;
};

// `owner`: a message goes back to the thread that obtained it. Each thread has a list of its own; what it frees for another
// one it gathers, and hangs the batch into that one's list of returns by one exchange. The owner takes all returns at once,
// so there is no ABA. Source: Leijen, Zorn, de Moura, "Mimalloc: Free List Sharding in Action", APLAS 2019.
template <class M, std::size_t kSpacing = kApart>
class OwnerPool {
  static constexpr int kBatch = 32;

  struct Batch {
    M* first = nullptr;
    M* last = nullptr;
    int count = 0;
  };
  struct alignas(kSpacing) Owner {
    M* free = nullptr;
    std::vector<Batch> batches;
    alignas(kSpacing) std::atomic<M*> returns{nullptr};
  };

 public:
  static constexpr std::string_view kName = "owner";
  static constexpr bool kCopies = false;
  explicit OwnerPool(const Setup& setup) : prepared_(setup.prepared) {
    const auto users = static_cast<std::size_t>(setup.users());
    for (std::size_t i = 0; i < users; ++i) {
      owners_.push_back(std::make_unique<Owner>());
      owners_.back()->batches.resize(users);
    }
    std::size_t turn = 0;
    for (M* const message : make<M>(prepared_)) {
      keep(*owners_[setup.has_receiver ? users - 1 : turn++ % users], message);
    }
  }

  struct User {
    OwnerPool& pool;
    Owner& self;
    std::int32_t thread;

    M* poll(int) {
      if (self.free == nullptr && self.returns.load(std::memory_order_relaxed) != nullptr) {
        self.free = self.returns.exchange(nullptr, std::memory_order_acquire);
      }
      M* const message = self.free;
      if (message != nullptr) self.free = message->next;
      return message;
    }

    bool offer(M* message) {
      if (message->owner == thread) {
        keep(self, message);
      } else {
        pool.gather(self, message);
      }
      return true;
    }
  };
  User user(int thread) { return {*this, *owners_[static_cast<std::size_t>(thread)], thread}; }
  std::size_t prepared() const { return prepared_; }
  template <class Visit>
  void each_free(Visit visit) const {
    const auto each = [&](M* message) {
      for (; message != nullptr; message = message->next) visit(message);
    };
    for (const auto& owner : owners_) {
      each(owner->free);
      each(owner->returns.load());
      for (const Batch& batch : owner->batches) each(batch.first);
    }
  }

 private:
  static void keep(Owner& owner, M* message) {
    message->next = owner.free;
    owner.free = message;
  }

  void gather(Owner& self, M* message) {
    const auto owner = static_cast<std::size_t>(message->owner);
    Batch& batch = self.batches[owner];
    if (batch.count++ == 0) batch.last = message;
    message->next = batch.first;
    batch.first = message;
    if (batch.count < kBatch) return;
    std::atomic<M*>& returns = owners_[owner]->returns;
    M* seen = returns.load(std::memory_order_relaxed);
    do {
      batch.last->next = seen;
    } while (!returns.compare_exchange_weak(seen, batch.first, std::memory_order_release, std::memory_order_relaxed));
    batch = {};
  }

  const std::size_t prepared_;
  std::vector<std::unique_ptr<Owner>> owners_;
};

// `recycle`: for each worker a ring of free messages that it alone fills and one thread alone empties: the thread itself,
// or the receiver.
template <class M>
class RecyclePool {
 public:
  static constexpr std::string_view kName = "recycle";
  static constexpr bool kCopies = false;
  explicit RecyclePool(const Setup& setup)
      : prepared_(setup.prepared), receiver_(setup.has_receiver ? setup.workers : -1) {
    const auto workers = static_cast<std::size_t>(setup.workers);
    for (std::size_t i = 0; i < workers; ++i) rings_.push_back(std::make_unique<SpscRing<M>>(2 * prepared_));
    std::size_t turn = 0;
    for (M* const message : make<M>(prepared_)) rings_[turn++ % workers]->offer(message);
  }

  struct User {
    RecyclePool& pool;
    int thread;

    // What comes back from the worker that the message will go to is in that one's cache.
    M* poll(int ring) {
      if (thread != pool.receiver_) return pool.rings_[static_cast<std::size_t>(thread)]->poll();
      const std::size_t count = pool.rings_.size();
      for (std::size_t tried = 0; tried < count; ++tried) {
        M* const message = pool.rings_[(static_cast<std::size_t>(ring) + tried) % count]->poll();
        if (message != nullptr) return message;
      }
      return nullptr;
    }

    bool offer(M* message) {
      return thread != pool.receiver_ && pool.rings_[static_cast<std::size_t>(thread)]->offer(message);
    }
  };
  User user(int thread) { return {*this, thread}; }
  std::size_t prepared() const { return prepared_; }
  template <class Visit>
  void each_free(Visit visit) const {
    for (const auto& ring : rings_) ring->each(visit);
  }

 private:
  const std::size_t prepared_;
  const int receiver_;
  std::vector<std::unique_ptr<SpscRing<M>>> rings_;
};

// `copy_on_keep`: no pool at all. The messages of a ring are its memory, filled again and again in their order; what is kept
// is copied out. It is what users of the kernel's TPACKET_V3 rings do.
template <class M>
class CopyPool {
  struct alignas(kApart) Ring {
    std::vector<M*> slots;
    std::uint64_t filled = 0;
    std::uint64_t seen = 0;
    alignas(kApart) std::atomic<std::uint64_t> released{0};
  };

 public:
  static constexpr std::string_view kName = "copy_on_keep";
  static constexpr bool kCopies = true;
  explicit CopyPool(const Setup& setup) : stop_(*setup.stop) {
    for (int i = 0; i < setup.workers; ++i) {
      rings_.push_back(std::make_unique<Ring>());
      rings_.back()->slots = make<M>(setup.per_ring);
      for (M* const message : rings_.back()->slots) message->index = i;
    }
  }

  struct User {
    CopyPool& pool;

    M* poll(int number) {
      Ring& ring = *pool.rings_[static_cast<std::size_t>(number)];
      if (ring.filled - ring.seen >= ring.slots.size()) {
        Idle idle(pool.stop_);
        while ((ring.seen = ring.released.load(std::memory_order_acquire)) + ring.slots.size() <= ring.filled) idle.rest();
      }
      return ring.slots[ring.filled++ % ring.slots.size()];
    }

    bool offer(M* message) {
      if (message->index < 0) return false;
      std::atomic<std::uint64_t>& released = pool.rings_[static_cast<std::size_t>(message->index)]->released;
      released.store(released.load(std::memory_order_relaxed) + 1, std::memory_order_release);
      return true;
    }
  };
  User user(int) { return {*this}; }
  std::size_t prepared() const { return rings_.size() * rings_.front()->slots.size(); }
  template <class Visit>
  void each_free(Visit visit) const {
    for (const auto& ring : rings_) {
      const std::uint64_t released = ring->released.load();
      for (std::uint64_t i = ring->filled - released; i < ring->slots.size(); ++i) {
        visit(ring->slots[(released + i) % ring->slots.size()]);
      }
    }
  }

 private:
  const Stop& stop_;
  std::vector<std::unique_ptr<Ring>> rings_;
};

// `thread_local`: a pool for each thread, found by a thread_local at every call. A message stays with the thread that freed
// it.
template <class M>
class ThreadLocalPool {
  struct alignas(kApart) Local {
    std::vector<M*> free;
  };

 public:
  static constexpr std::string_view kName = "thread_local";
  static constexpr bool kCopies = false;
  explicit ThreadLocalPool(const Setup& setup) : prepared_(setup.prepared), setup_(setup) {
    for (int i = 0; i < setup.users(); ++i) locals_.push_back(std::make_unique<Local>());
  }

  struct User {
    std::size_t most;

    M* poll(int) {
      std::vector<M*>& free = mine->free;
      if (free.empty()) return nullptr;
      M* const message = free.back();
      free.pop_back();
      return message;
    }

    bool offer(M* message) {
      if (mine->free.size() >= most) return false;
      mine->free.push_back(message);
      return true;
    }
  };
  User user(int thread) {
    mine = locals_[static_cast<std::size_t>(thread)].get();
    const auto workers = static_cast<std::size_t>(setup_.workers);
    const std::size_t share = setup_.has_receiver ? (thread == setup_.workers ? prepared_ : 0) : prepared_ / workers;
    mine->free = make<M>(share);
    return {2 * prepared_};
  }
  std::size_t prepared() const {
    const auto workers = static_cast<std::size_t>(setup_.workers);
    return setup_.has_receiver ? prepared_ : prepared_ / workers * workers;
  }
  template <class Visit>
  void each_free(Visit visit) const {
    for (const auto& local : locals_) {
      for (M* const message : local->free) visit(message);
    }
  }

 private:
  static inline thread_local Local* mine = nullptr;

  const std::size_t prepared_;
  const Setup setup_;
  std::vector<std::unique_ptr<Local>> locals_;
};

}  // namespace allocpool::threads
