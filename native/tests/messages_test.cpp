// Messages: the same work whatever the strategy and the number of threads; times that are kept; and sources that cheat.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "allocpool.h"
#include "messages/trial.hpp"
#include "user_error.hpp"

namespace {

namespace messages = allocpool::messages;
using messages::Counters;
using messages::Message;
using messages::Settings;

constexpr std::int64_t kMessages = 20'000;
// Later lines count for nothing where an earlier one says the same: changes come first.
const std::string kLines =
    "seed=7\nthreads=1\nlayout=malloc\nstrategy=alloc\nzeroing=0\ncapacities=64,2048\nprepared=1000,1000\nsizes=64,1500\n"
    "thresholds=4294967296,2576980377\nothers=0,0\nfilled_share=0.5\nread_share=1.0\ninterval_ns=0.0\narrivals=steady\n"
    "on_share=0.1\nburst_length=1\ntime_scale=1.0\ndelay_ns=50000000\nin_flight=300\nkept_share=0.1\nkept_count=200\n"
    "replacement=random\ntemporaries=2\ntemporary_length=16\nlive_mb=0.0\nchanged_mb_per_s=0.0\ngarbage_mb_per_s=0.0\n";
// Of Java's tests, too: what these settings and so many messages add up to in every language.
constexpr std::uint64_t kChecksum = 0xF9B1'E8DA'2F98'FF0E;

std::string with(const std::string& changes) { return changes + "\n" + kLines; }

std::unique_ptr<messages::Workload> made(const std::string& changes) {
  return messages::make_workload(with(changes), nullptr, 0);
}

std::uint64_t checked(messages::Workload& workload) {
  workload.run(kMessages / 3);
  workload.run(kMessages - kMessages / 3);
  workload.drain();
  EXPECT_EQ(workload.audit(), "");
  return workload.checksum();
}

TEST(Messages, AreTheSameWorkInEveryWay) {
  for (const std::string& changes : std::vector<std::string>{
           "strategy=alloc", "strategy=pool", "strategy=pool\nthreads=3\nzeroing=1", "strategy=mix\nprepared=10,10",
           "strategy=mix\nprepared=10,10\nthreads=2\nreplacement=oldest", "strategy=pool\nprepared=0,0",
           "strategy=reuse\nin_flight=0\nkept_share=0.0\nkept_count=0\nthreads=2"}) {
    SCOPED_TRACE(changes);
    const auto workload = made(changes);
    EXPECT_EQ(checked(*workload), kChecksum);
    const ap_messages_counts counts = workload->counts();
    EXPECT_EQ(counts.generated, kMessages);
    EXPECT_EQ(counts.obtained, counts.freed + counts.in_store);
  }
}

TEST(Messages, CountersTellWhatAPoolHoldsAndWastes) {
  const auto pool = made("strategy=pool");
  checked(*pool);
  EXPECT_EQ(pool->counts().constructed, 0);
  EXPECT_EQ(pool->counts().pool_bytes, 1000 * (64 + 2048));
  EXPECT_GT(pool->counts().wasted_bytes, 0);
  const auto mix = made("strategy=mix\nprepared=10,10");
  checked(*mix);
  EXPECT_GT(mix->counts().constructed, 0);
  EXPECT_GT(mix->counts().discarded, 0);
}

TEST(Messages, ThatWaitedTooLongAreLost) {
  const auto workload = made("strategy=pool\ninterval_ns=5.0\ndelay_ns=100000\nthreads=2");
  workload->run_for(allocpool::os::monotonic_ns(), 5'000'000);
  workload->drain();
  EXPECT_EQ(workload->audit(), "");
  const ap_messages_counts counts = workload->counts();
  EXPECT_EQ(counts.generated, 1'000'000);
  EXPECT_GT(counts.lost, 0);
  EXPECT_EQ(counts.generated, counts.received + counts.lost);
  std::int64_t timed = 0;
  for (const auto& [delay_ns, count] : workload->delays()) timed += count;
  EXPECT_EQ(timed, counts.received);
}

TEST(Messages, ComeAtTheRateThatWasAskedFor) {
  for (const std::string& kind : {std::string("steady"), std::string("poisson"), std::string("on_off")}) {
    const Settings settings(with("interval_ns=1000.0\nthreads=2\nburst_length=50\narrivals=" + kind));
    const messages::Sizes sizes(settings, nullptr, 0);
    messages::Arrivals arrivals(settings, sizes, 1, 1, 3);
    double last_ns = -1;
    for (int i = 0; i < 50'000; ++i) {
      const double next_ns = arrivals.next_ns();
      ASSERT_GE(next_ns, last_ns);
      last_ns = next_ns;
    }
    EXPECT_NEAR(last_ns, 100e6, 2e6) << kind;
  }
}

TEST(Messages, OfATraceHaveItsSizesTimesAndContents) {
  std::vector<messages::Record> trace;
  for (std::int32_t i = 0; i < 3; ++i) trace.push_back({i * 4'000, i, 64 + 8 * i, 0});
  const std::size_t bytes = trace.size() * sizeof(messages::Record);
  const Settings settings(with("arrivals=captured\ntime_scale=0.5"));
  const messages::Sizes sizes(settings, trace.data(), bytes);
  messages::Arrivals arrivals(settings, sizes, 0, 0, 0);
  for (const double due_ns : {0.0, 2'000.0, 4'000.0, 6'000.0, 8'000.0}) EXPECT_EQ(arrivals.next_ns(), due_ns);
  EXPECT_EQ(sizes.length(5, 0), 80);
  const auto replay = messages::make_workload(with("strategy=pool"), trace.data(), bytes);
  EXPECT_NE(checked(*replay), kChecksum);
}

TEST(Messages, GoOnBesideTheRestOfTheProgram) {
  const auto workload = made("live_mb=1.0\nchanged_mb_per_s=200.0\ngarbage_mb_per_s=400.0");
  workload->rest(true);
  while (workload->counts().changed_bytes < 1 << 18) workload->run(1'000);
  workload->rest(false);
  const ap_messages_counts counts = workload->counts();
  EXPECT_NEAR(static_cast<double>(counts.garbage_bytes) / static_cast<double>(counts.changed_bytes), 2.0, 0.3);
}

TEST(Messages, AreRefusedInOneLine) {
  const auto refused = [](const std::string& changes) {
    try {
      made(changes)->run_for(0, 1);
      return std::string();
    } catch (const allocpool::UserError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(refused("strategy=hoard").find("alloc,pool,mix,reuse"), std::string::npos);
  EXPECT_NE(refused("arrivals=tidal").find("poisson"), std::string::npos);
  EXPECT_NE(refused("threads=0").find("threads is 0"), std::string::npos);
  EXPECT_NE(refused("seed=x").find("seed"), std::string::npos);
}

// A pool that its children make wrong.
class Cheat {
 public:
  explicit Cheat(const Settings& settings) : honest(settings) {}
  Message* obtain(std::int64_t length, Counters& counters) { return honest.obtain(length, counters); }
  template <class Visit>
  void each_free(Visit visit) const {
    honest.each_free(visit);
  }
  std::int64_t prepared() const { return honest.prepared(); }
  std::int64_t held_bytes() const { return honest.held_bytes(); }

 protected:
  messages::Pool honest;
};

class Leaking : public Cheat {
 public:
  using Cheat::Cheat;
  ~Leaking() {
    for (Message* const message : lost_) Message::drop(message);
  }
  void free(Message* message, Counters& counters) {
    if (counters.freed % 1'000 == 0) {
      lost_.push_back(message);
    } else {
      honest.free(message, counters);
    }
  }

 private:
  std::vector<Message*> lost_;
};

class FreeingTwice : public Cheat {
 public:
  using Cheat::Cheat;
  void free(Message* message, Counters& counters) {
    honest.free(message, counters);
    if (counters.freed == 15'000) honest.free(message, counters);
  }
};

template <class Source>
std::string fault_of_audit() {
  messages::Trial<Source> trial(Settings(with("strategy=pool")), nullptr, 0);
  trial.run(kMessages);
  trial.drain();
  return trial.audit();
}

TEST(Messages, AuditFindsALeak) { EXPECT_EQ(fault_of_audit<Leaking>().rfind("messages in stores and pools", 0), 0U); }

TEST(Messages, AuditFindsADoubleFree) {
  const std::string line = fault_of_audit<FreeingTwice>();
  EXPECT_TRUE(line.find("another place") != std::string::npos || line.find("handed out") != std::string::npos) << line;
}

}  // namespace
