// A trial: its threads, what each does, and the counters. With a receiver it is a pipeline: one thread obtains and fills, the
// workers are behind queues with one producer each, and every free is of what another thread obtained. Without, each thread
// receives the flows that hash to its ring, and nothing is shared but the memory or the pool.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_set>
#include <vector>

#include "realtime/consumer.hpp"
#include "threads/team.hpp"
#include "threads/idle.hpp"
#include "threads/message.hpp"
#include "threads/pools.hpp"
#include "threads/spsc_ring.hpp"
#include "threads/workload.hpp"
#include "user_error.hpp"

namespace allocpool::threads {

// One thread's way to the pool, with the thread's counters.
template <class M, class Pool>
class alignas(kApart) Way {
 public:
  Way(Pool& pool, int thread) : user_(pool.user(thread)), thread_(thread) {}

  M* obtain(int ring) {
    M* message = user_.poll(ring);
    if (message == nullptr) {
      message = new M;
      ++constructed;
    }
    message->owner = thread_;
    ++obtained;
    return message;
  }

  void free(M* message) {
    ++freed;
    if (message->owner != thread_) ++remote_frees;
    give(message);
  }

  // What a store keeps of a parsed message: the message itself, unless its memory is wanted back.
  M* keep(M* message) {
    if constexpr (Pool::kCopies) {
      M* const copy = new M;
      ++constructed;
      std::memcpy(M::Of::header(copy), M::Of::header(message), kUsedBytes);
      layout_.parse(copy);
      copy->owner = thread_;
      give(message);
      return copy;
    } else {
      return message;
    }
  }

  std::int64_t obtained = 0;
  std::int64_t freed = 0;
  std::int64_t remote_frees = 0;
  std::int64_t constructed = 0;
  std::int64_t discarded = 0;

 private:
  void give(M* message) {
    layout_.release(message);
    if (user_.offer(message)) return;
    delete message;
    ++discarded;
  }

  typename Pool::User user_;
  typename M::Of layout_;
  const std::int32_t thread_;
};

// What happens behind the seam: messages wait in a queue, are parsed, kept or freed.
template <class M, class Pool>
class alignas(kApart) Worker {
 public:
  Worker(Way<M, Pool>& way, std::size_t queue_size, std::size_t store_size, std::uint64_t store_seed)
      : way_(way), queue_(queue_size), store_(store_size), store_seed_(store_seed) {}

  void accept(M* message) {
    M* const oldest = queue_[place_];
    queue_[place_] = message;
    place_ = place_ + 1 == queue_.size() ? 0 : place_ + 1;
    ++received;
    if (oldest != nullptr) process(oldest);
  }

  // Processes all that waits, the oldest first.
  void drain() {
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      M* const oldest = queue_[place_];
      queue_[place_] = nullptr;
      place_ = place_ + 1 == queue_.size() ? 0 : place_ + 1;
      if (oldest != nullptr) process(oldest);
    }
  }

  template <class Visit>
  void each_queued(Visit visit) const {
    for (M* const message : queue_) {
      if (message != nullptr) visit(message);
    }
  }

  template <class Visit>
  void each_stored(Visit visit) const {
    for (M* const message : store_) {
      if (message != nullptr) visit(message);
    }
  }

  // What the store should hold, by the hashes of what came and went.
  std::uint64_t store_sum() const { return store_sum_; }

  std::int64_t received = 0;
  std::int64_t parsed = 0;
  std::int64_t tcp = 0;
  std::int64_t evicted = 0;
  std::int64_t malformed = 0;
  std::uint64_t sum = 0;

 private:
  void process(M* message) {
    if (!has_marker(M::Of::header(message))) ++malformed;
    const bool keeps = layout_.parse(message).transport == kTcp;
    const std::uint64_t hashed = hash(message);
    ++parsed;
    sum += hashed;
    M* done = message;
    if (keeps) {
      const std::size_t slot = slot_of(store_seed_, static_cast<std::uint64_t>(tcp), store_.size());
      done = store_[slot];
      store_[slot] = way_.keep(message);
      store_sum_ += hashed;
      ++tcp;
      if (done == nullptr) return;
      // What is in the buffer now: had another been given it since, the sums would differ.
      store_sum_ -= hash(done);
      ++evicted;
    }
    way_.free(done);
  }

  Way<M, Pool>& way_;
  typename M::Of layout_;
  std::vector<M*> queue_;
  std::vector<M*> store_;
  const std::uint64_t store_seed_;
  std::size_t place_ = 0;
  std::uint64_t store_sum_ = 0;
};

template <class M, class Pool>
class Trial final : public Workload {
 public:
  Trial(const Sizes& sizes, bool has_receiver)
      : rings_(static_cast<int>(sizes.threads)),
        seed_(sizes.seed),
        per_worker_(static_cast<std::size_t>(std::max<std::int64_t>(1, sizes.queue_size / sizes.threads))),
        setup_{static_cast<std::size_t>(sizes.pool_size), rings_, has_receiver,
               per_worker_ + 1 + (has_receiver ? kBetween : 0), &stop_},
        pool_(setup_),
        ways_(static_cast<std::size_t>(setup_.users())),
        workers_(static_cast<std::size_t>(rings_)),
        between_(static_cast<std::size_t>(has_receiver ? rings_ : 0)),
        ticked_(static_cast<std::size_t>(rings_)),
        team_(setup_.users(), stop_) {
    const auto store = static_cast<std::size_t>(std::max<std::int64_t>(1, sizes.stored_count / sizes.threads));
    team_.run([&](int k) {
      const auto place = static_cast<std::size_t>(k);
      ways_[place] = std::make_unique<Way<M, Pool>>(pool_, k);
      if (k >= rings_) return;
      workers_[place] =
          std::make_unique<Worker<M, Pool>>(*ways_[place], per_worker_, store, seed_ + static_cast<std::uint64_t>(k));
      if (setup_.has_receiver) between_[place] = std::make_unique<SpscRing<M>>(kBetween);
    });
  }

  ~Trial() override {
    // Each once, even where a pool that cheats has one in two places.
    std::unordered_set<M*> all;
    const auto add = [&](M* message) { all.insert(message); };
    for (const auto& ring : between_) {
      if (ring) ring->each(add);
    }
    for (const auto& worker : workers_) {
      if (!worker) continue;
      worker->each_queued(add);
      worker->each_stored(add);
    }
    pool_.each_free(add);
    for (M* const message : all) delete message;
  }

  void run(std::int64_t packets) override {
    const std::uint64_t from = next_;
    const std::uint64_t to = next_ + static_cast<std::uint64_t>(packets);
    all_sent_.store(false, std::memory_order_relaxed);
    team_.run([&](int k) {
      if (!setup_.has_receiver) {
        receive_own(k, from, to);
      } else if (k == rings_) {
        receive_all(from, to);
      } else {
        work(k);
      }
    });
    next_ = to;
  }

  std::vector<ap_consumption> consume(realtime::Session& session, bool yields) override {
    const auto sources = static_cast<std::size_t>(setup_.has_receiver ? 1 : rings_);
    if (session.rings() != static_cast<std::int64_t>(sources)) {
      throw UserError("the source has " + std::to_string(session.rings()) + " rings: it must have " +
                      std::to_string(sources));
    }
    std::vector<ap_consumption> accounts(sources);
    std::vector<realtime::DelayHistogram> delays(sources);
    const auto take = [&](std::size_t ring, const auto& receive) {
      realtime::Consumer consumer(session.ring(static_cast<std::int64_t>(ring)), delays[ring], 0, {}, yields);
      for (Burst burst = consumer.next(); burst.count > 0; burst = consumer.next()) {
        for (std::size_t i = 0; i < burst.count; ++i) receive(static_cast<std::uint64_t>(burst.sequences[i]));
      }
      accounts[ring] = consumer.account();
    };
    all_sent_.store(false, std::memory_order_relaxed);
    team_.run([&](int k) {
      const auto place = static_cast<std::size_t>(k);
      if (!setup_.has_receiver) {
        take(place, [&](std::uint64_t sequence) { accept(k, sequence); });
      } else if (k == rings_) {
        Idle idle(stop_);
        take(0, [&](std::uint64_t sequence) {
          const int ring = ring_of(seed_, sequence / kTrain, rings_);
          send(ring, sequence, idle);
          ++ticked_[static_cast<std::size_t>(ring)];
        });
        all_sent_.store(true, std::memory_order_release);
      } else {
        work(k);
      }
    });
    for (std::size_t ring = 0; ring < sources; ++ring) {
      session.delays().add(delays[ring]);
      if (!setup_.has_receiver) ticked_[ring] += accounts[ring].received;
    }
    return accounts;
  }

  void drain() override {
    team_.run([&](int k) {
      if (k < rings_) workers_[static_cast<std::size_t>(k)]->drain();
    });
  }

  ap_threads_counts counts() const override {
    ap_threads_counts counts{};
    counts.generated = static_cast<std::int64_t>(next_);
    for (const auto& ring : between_) ring->each([&](M*) { ++counts.left; });
    for (const auto& worker : workers_) {
      counts.received += worker->received;
      counts.parsed += worker->parsed;
      counts.tcp += worker->tcp;
      counts.evicted += worker->evicted;
      worker->each_queued([&](M*) { ++counts.live; });
      worker->each_stored([&](M*) { ++counts.live; });
    }
    counts.live += counts.left;
    for (const auto& way : ways_) {
      counts.allocated += way->obtained;
      counts.freed += way->freed;
      counts.constructed += way->constructed;
      counts.discarded += way->discarded;
      counts.remote_frees += way->remote_frees;
    }
    counts.prepared = static_cast<std::int64_t>(pool_.prepared());
    pool_.each_free([&](M*) { ++counts.pooled; });
    return counts;
  }

  std::vector<std::int64_t> received() const override {
    std::vector<std::int64_t> received;
    for (const auto& worker : workers_) received.push_back(worker->received);
    return received;
  }

  std::uint64_t checksum() const override {
    std::uint64_t sum = 0;
    for (const auto& worker : workers_) sum += worker->sum;
    return sum;
  }

  std::string audit() const override {
    if (std::string fault = rings_fault(); !fault.empty()) return fault;
    std::unordered_set<const M*> seen;
    std::string fault;
    const auto require = [&](bool holds, const char* otherwise) {
      if (!holds && fault.empty()) fault = otherwise;
    };
    std::int64_t stored = 0;
    for (const auto& worker : workers_) {
      std::uint64_t sum = 0;
      worker->each_stored([&](M* message) {
        ++stored;
        require(seen.insert(message).second, "a message in a store is in another place too");
        const bool parsed = M::Of::is_parsed(message);
        require(parsed, "a message in a store was freed");
        if (parsed) sum += hash(message);
      });
      require(sum == worker->store_sum(),
              "a message in a store, or one that left it, was written to while it was there");
      require(worker->malformed == 0, "a message without the protocol marker was queued");
    }
    pool_.each_free([&](M* message) {
      require(seen.insert(message).second, "a free message is in another place too");
      require(!M::Of::is_parsed(message), "a free message still has a parse result");
    });
    if (!fault.empty()) return fault;
    return counters_fault(stored, static_cast<std::int64_t>(seen.size()));
  }

 private:
  void accept(int ring, std::uint64_t sequence) {
    const auto place = static_cast<std::size_t>(ring);
    M* const message = ways_[place]->obtain(ring);
    fill(message, seed_, sequence);
    workers_[place]->accept(message);
  }

  void send(int ring, std::uint64_t sequence, Idle& idle) {
    M* const message = ways_.back()->obtain(ring);
    fill(message, seed_, sequence);
    while (!between_[static_cast<std::size_t>(ring)]->offer(message)) idle.rest();
    idle.reset();
  }

  void receive_own(int ring, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t sequence = from; sequence < to;) {
      const std::uint64_t end = train_end(sequence, to);
      if (ring_of(seed_, sequence / kTrain, rings_) == ring) {
        for (; sequence < end; ++sequence) accept(ring, sequence);
      }
      sequence = end;
    }
  }

  void receive_all(std::uint64_t from, std::uint64_t to) {
    Idle idle(stop_);
    for (std::uint64_t sequence = from; sequence < to;) {
      const std::uint64_t end = train_end(sequence, to);
      const int ring = ring_of(seed_, sequence / kTrain, rings_);
      for (; sequence < end; ++sequence) send(ring, sequence, idle);
    }
    all_sent_.store(true, std::memory_order_release);
  }

  void work(int ring) {
    Worker<M, Pool>& worker = *workers_[static_cast<std::size_t>(ring)];
    SpscRing<M>& between = *between_[static_cast<std::size_t>(ring)];
    Idle idle(stop_);
    while (true) {
      const bool last = all_sent_.load(std::memory_order_acquire);
      M* const message = between.poll();
      if (message != nullptr) {
        worker.accept(message);
        idle.reset();
      } else if (last) {
        return;
      } else {
        idle.rest();
      }
    }
  }

  static std::string differs(const std::string& what, std::int64_t actual, std::int64_t expected) {
    if (actual == expected) return "";
    return what + ": " + std::to_string(actual) + ", expected " + std::to_string(expected);
  }

  // generated = received + lost + left, ring by ring: nothing is lost or left here, nor of the ticks that a source had room
  // for.
  std::string rings_fault() const {
    std::vector<std::int64_t> generated = ticked_;
    for (std::uint64_t sequence = 0; sequence < next_;) {
      const std::uint64_t end = train_end(sequence, next_);
      generated[static_cast<std::size_t>(ring_of(seed_, sequence / kTrain, rings_))] +=
          static_cast<std::int64_t>(end - sequence);
      sequence = end;
    }
    for (std::size_t ring = 0; ring < generated.size(); ++ring) {
      const std::string fault =
          differs("packets of ring " + std::to_string(ring), workers_[ring]->received, generated[ring]);
      if (!fault.empty()) return fault;
    }
    return "";
  }

  std::string counters_fault(std::int64_t stored, std::int64_t seen) const {
    const ap_threads_counts now = counts();
    for (const std::string& fault :
         {differs("messages between threads", now.left, 0), differs("packets parsed", now.parsed, taken()),
          differs("packets obtained", now.allocated, taken()),
          differs("packets stored and not evicted", stored, now.tcp - now.evicted),
          differs("packets freed", now.freed, now.parsed - now.tcp + now.evicted),
          differs("messages in stores and pools", seen, now.prepared + now.constructed - now.discarded)}) {
      if (!fault.empty()) return fault;
    }
    return "";
  }

  // Packets that came, by their numbers or as ticks.
  std::int64_t taken() const {
    return std::accumulate(ticked_.begin(), ticked_.end(), static_cast<std::int64_t>(next_));
  }

  const int rings_;
  const std::uint64_t seed_;
  const std::size_t per_worker_;
  Stop stop_;
  const Setup setup_;
  Pool pool_;
  std::vector<std::unique_ptr<Way<M, Pool>>> ways_;
  std::vector<std::unique_ptr<Worker<M, Pool>>> workers_;
  std::vector<std::unique_ptr<SpscRing<M>>> between_;
  std::uint64_t next_ = 0;
  std::vector<std::int64_t> ticked_;  // by the ring of their flow
  std::atomic<bool> all_sent_{false};
  Team team_;
};

}  // namespace allocpool::threads
