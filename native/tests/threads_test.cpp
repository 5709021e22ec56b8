// Many threads: the same work whatever the topology, the strategy and the number of threads; and pools that cheat are found.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "allocpool.h"
#include "names.hpp"
#include "threads/trial.hpp"
#include "user_error.hpp"

namespace {

namespace threads = allocpool::threads;
using M = threads::FlatMessage;

constexpr std::int64_t kPackets = 20'000;
// Of the contract test, too: what seed 7 and so many packets add up to in every language.
constexpr std::uint64_t kSeed = 7;

threads::Sizes sizes_of(std::int64_t count) { return {count, 1'600 + count * 1'800, 800, 800, kSeed}; }

std::uint64_t checked(threads::Workload& workload) {
  workload.run(kPackets / 3);
  workload.run(kPackets - kPackets / 3);
  workload.drain();
  EXPECT_EQ(workload.audit(), "");
  return workload.checksum();
}

TEST(Threads, DoTheSameWorkInEveryWay) {
  std::set<std::uint64_t> sums;
#if defined(__SANITIZE_THREAD__)
  // Slow under this sanitizer, and what threads share does not depend on the layout.
  const std::vector<std::string> layouts{"flat"};
  const std::vector<std::int64_t> teams{2};
#else
  const std::vector<std::string> layouts{"heap", "flat"};
  const std::vector<std::int64_t> teams{1, 2, 3};
#endif
  for (const std::string topology : {"sharded", "pipeline"}) {
    for (const std::string& layout : layouts) {
      for (const std::string& strategy : allocpool::test::split(threads::strategy_names())) {
        for (const std::int64_t count : teams) {
          SCOPED_TRACE(topology + " " + layout + " " + strategy + " " + std::to_string(count));
          const auto workload = threads::make_workload(topology, layout, strategy, sizes_of(count));
          sums.insert(checked(*workload));
          const ap_threads_counts counts = workload->counts();
          EXPECT_EQ(counts.generated, counts.received + counts.lost + counts.left);
          if (topology == "sharded") {
            EXPECT_EQ(counts.remote_frees, 0);
          }
          if (topology == "pipeline" && strategy != "copy_on_keep") {
            EXPECT_EQ(counts.remote_frees, counts.freed);
          }
        }
      }
    }
  }
  EXPECT_EQ(sums.size(), 1U);
}

TEST(Threads, RefuseWhatMakesNoSenseInOneLine) {
  const auto refused = [](const char* topology, const char* layout, const char* strategy, threads::Sizes sizes) {
    try {
      return std::string(threads::make_workload(topology, layout, strategy, sizes) ? "made" : "");
    } catch (const allocpool::UserError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(refused("ring", "flat", "alloc", sizes_of(1)).find("sharded,pipeline"), std::string::npos);
  EXPECT_NE(refused("sharded", "native", "alloc", sizes_of(1)).find("heap,flat"), std::string::npos);
  EXPECT_NE(refused("sharded", "flat", "slab", sizes_of(1)).find("copy_on_keep"), std::string::npos);
  EXPECT_NE(refused("sharded", "flat", "alloc", sizes_of(0)).find("threads is 0"), std::string::npos);
}

TEST(Threads, TheCFaceTellsWhatWasDone) {
  const ap_threads_config config{"pipeline", "flat", "owner", 2, 4'000, 800, 800, kSeed, 1};
  std::array<char, 200> line{};
  ap_threads* const handle = ap_threads_create(&config, line.data(), line.size());
  ASSERT_NE(handle, nullptr) << line.data();
  ap_iteration part{};
  EXPECT_EQ(ap_threads_run(handle, kPackets, &part), AP_OK);
  EXPECT_EQ(part.packets, kPackets);
  EXPECT_GT(part.end_ns, part.start_ns);
  EXPECT_EQ(ap_threads_drain(handle), AP_OK);
  EXPECT_EQ(ap_threads_audit(handle, line.data(), line.size()), AP_OK) << line.data();
  std::array<std::int64_t, 2> received{};
  EXPECT_EQ(ap_threads_get_received(handle, received.data(), 2), AP_OK);
  EXPECT_EQ(received[0] + received[1], kPackets);
  EXPECT_EQ(ap_threads_get_received(handle, received.data(), 1), AP_INVALID_ARGUMENT);
  EXPECT_EQ(ap_threads_run(handle, 0, &part), AP_INVALID_ARGUMENT);
  EXPECT_EQ(ap_threads_run(nullptr, 1, &part), AP_INVALID_ARGUMENT);
  ap_threads_destroy(handle);
  const ap_threads_config wrong{"pipeline", "flat", "hoard", 2, 4'000, 800, 800, kSeed, 1};
  EXPECT_EQ(ap_threads_create(&wrong, line.data(), line.size()), nullptr);
  EXPECT_NE(std::string(line.data()).find("hoard"), std::string::npos);
}

// A session that has been started at a low rate, by a source that shares its processor.
std::unique_ptr<allocpool::realtime::Session> ticking(std::int64_t rings, std::int64_t ticks) {
  auto session = std::make_unique<allocpool::realtime::Session>(
      allocpool::realtime::Session::Limits{64, 100'000, 100'000, 1'000, rings, kSeed});
  session->start({2'000, 64, ticks, ticks / 4, 1'000'000, 1'000'000, -1, "auto", 1});
  session->begin_consuming();
  return session;
}

TEST(Threads, InRealTimeTheBooksOfEachRingAgree) {
  constexpr std::int64_t kTicks = 20'000;
  for (const std::string topology : {"sharded", "pipeline"}) {
    for (const std::string strategy : {"alloc", "owner", "copy_on_keep"}) {
      SCOPED_TRACE(topology + " " + strategy);
      const std::size_t rings = topology == "sharded" ? 3 : 1;
      const auto workload = threads::make_workload(topology, "flat", strategy, sizes_of(3));
      workload->run(kPackets);
      const auto session = ticking(static_cast<std::int64_t>(rings), kTicks);
      const std::vector<ap_consumption> seen = workload->consume(*session, true);
      session->wait();
      ASSERT_EQ(seen.size(), rings);
      ap_consumption all = seen.front();
      std::int64_t generated = 0;
      for (std::size_t ring = 0; ring < rings; ++ring) {
        const ap_ring_account account = session->ring_account(static_cast<std::int64_t>(ring));
        EXPECT_EQ(account.generated, account.received + account.lost + account.left);
        EXPECT_EQ(account.received, seen[ring].received);
        EXPECT_GT(account.generated, 0);
        generated += account.generated;
        if (ring == 0) continue;
        all.received += seen[ring].received;
        all.warmup_received += seen[ring].warmup_received;
      }
      EXPECT_EQ(generated, kTicks);
      EXPECT_EQ(session->audit(all), "");
      workload->drain();
      EXPECT_EQ(workload->audit(), "");
      EXPECT_EQ(workload->counts().parsed, kPackets + all.received);
      ++all.received;
      EXPECT_NE(session->audit(all), "");
    }
  }
}

TEST(Threads, InRealTimeRingsAreAsManyAsReceivers) {
  const auto workload = threads::make_workload("pipeline", "flat", "alloc", sizes_of(2));
  allocpool::realtime::Session session({64, 10, 10, 10, 2, kSeed});
  EXPECT_THROW((void)workload->consume(session, true), allocpool::UserError);
  EXPECT_THROW((void)session.ring(2), allocpool::UserError);
  EXPECT_THROW(session.set_intermediate(10), allocpool::UserError);
  EXPECT_THROW(session.start({0, 64, 100, 0, 1'000'000, 0, -1, "auto", 1}), allocpool::UserError);
}

TEST(Threads, CellsSideBySideDoTheSameWork) {
  std::set<std::uint64_t> sums;
  threads::Sizes sizes = sizes_of(2);
  for (const std::string strategy : {"mpmc", "owner"}) {
    for (const bool padded : {true, false}) {
      sizes.padded = padded;
      sums.insert(checked(*threads::make_workload("pipeline", "flat", strategy, sizes)));
    }
  }
  EXPECT_EQ(sums.size(), 1U);
  EXPECT_THROW((void)threads::make_workload("sharded", "flat", "stack", sizes), allocpool::UserError);
}

// Threads that do nothing but take and give back: each marks what it holds, and nobody else may have marked it.
template <class Pool>
void hammer(int users, int rounds) {
  const threads::Stop stop;
  Pool pool(threads::Setup{64, users, false, 1, &stop});
  const auto mark = [](M* message) -> std::atomic<std::uint64_t>& {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(M::Of::header(message));
  };
  pool.each_free([&](M* message) { new (M::Of::header(message)) std::atomic<std::uint64_t>(0); });
  std::atomic<int> twice{0};
  std::vector<std::thread> team;
  for (int k = 0; k < users; ++k) {
    team.emplace_back([&, k] {
      auto user = pool.user(k);
      std::array<M*, 8> held{};
      for (int round = 0; round < rounds; ++round) {
        const std::size_t count = 1 + static_cast<std::size_t>(round) % held.size();
        for (std::size_t i = 0; i < count; ++i) {
          held[i] = user.poll(k);
          if (held[i] != nullptr && mark(held[i]).exchange(1, std::memory_order_relaxed) != 0) ++twice;
        }
        for (std::size_t i = 0; i < count; ++i) {
          if (held[i] == nullptr) continue;
          mark(held[i]).store(0, std::memory_order_relaxed);
          EXPECT_TRUE(user.offer(held[i]));
        }
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  EXPECT_EQ(twice.load(), 0);
  std::set<M*> seen;
  pool.each_free([&](M* message) { EXPECT_TRUE(seen.insert(message).second); });
  EXPECT_EQ(seen.size(), pool.prepared());
  for (M* const message : seen) delete message;
}

TEST(Threads, SharedPoolsHandOutNothingTwiceUnderContention) {
  hammer<threads::LockedPool<M>>(3, 5'000);
  hammer<threads::StackPool<M>>(3, 5'000);
  hammer<threads::MpmcPool<M>>(3, 5'000);
  hammer<threads::CachedPool<M>>(3, 5'000);
}

// What overtakes between reading the head and exchanging it: takes two and gives the first one back.
template <class Pool>
struct Overtaking {
  static inline Pool* pool = nullptr;
  static inline std::vector<M*>* taken = nullptr;

  static void between() {
    Pool* const armed = pool;
    if (armed == nullptr) return;
    pool = nullptr;
    M* const first = armed->pop();
    taken->push_back(armed->pop());
    armed->push(first);
  }
};

template <bool kTagged>
struct Overtaken : Overtaking<threads::StackPool<M, kTagged, Overtaken<kTagged>>> {};

template <bool kTagged>
bool hands_out_twice() {
  const threads::Stop stop;
  threads::StackPool<M, kTagged, Overtaken<kTagged>> pool(threads::Setup{3, 1, false, 1, &stop});
  std::vector<M*> taken;
  Overtaken<kTagged>::pool = &pool;
  Overtaken<kTagged>::taken = &taken;
  std::set<M*> all;
  for (int i = 0; i < 3; ++i) {
    M* const message = pool.pop();
    if (message != nullptr) taken.push_back(message);
  }
  for (M* const message : taken) all.insert(message);
  const bool twice = all.size() != taken.size();
  pool.each_free([&](M* message) { all.insert(message); });
  for (M* const message : all) delete message;
  return twice;
}

TEST(Threads, AStackWithoutTagsHasTheFaultThatTagsPrevent) {
  EXPECT_TRUE(hands_out_twice<false>());
  EXPECT_FALSE(hands_out_twice<true>());
}

// Pools that cheat now and then; what is wrong is found by the audit.
enum class Fault { freed_twice, lost, handed_out_early };

template <Fault kFault>
class Cheating : public threads::LockedPool<M> {
  using Base = threads::LockedPool<M>;

 public:
  using Base::Base;

  struct User {
    Base::User honest;
    std::unique_ptr<M> kept = nullptr;
    int count = 0;
    M* last = nullptr;

    M* poll(int ring) {
      if (kFault == Fault::handed_out_early && ++count == 5'000) return last;
      return last = honest.poll(ring);
    }

    bool offer(M* message) {
      if (kFault != Fault::handed_out_early && ++count == 5'000) {
        if (kFault == Fault::freed_twice) return honest.offer(message) && honest.offer(message);
        kept = std::unique_ptr<M>(message);
        return true;
      }
      return honest.offer(message);
    }
  };
  User user(int thread) { return {Base::user(thread)}; }
};

template <Fault kFault>
std::string fault_found() {
  threads::Trial<M, Cheating<kFault>> trial(sizes_of(1), false);
  trial.run(kPackets);
  trial.drain();
  return trial.audit();
}

TEST(Threads, AuditsFindPoolsThatCheat) {
  EXPECT_NE(fault_found<Fault::freed_twice>(), "");
  EXPECT_NE(fault_found<Fault::lost>(), "");
  EXPECT_NE(fault_found<Fault::handed_out_early>(), "");
}

}  // namespace
