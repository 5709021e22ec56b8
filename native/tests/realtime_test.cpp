// The source, the ring and the consumers keep exact counters, whatever the scheduler does to them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "allocpool.h"
#include "names.hpp"
#include "packets/registry.hpp"
#include "realtime/consumer.hpp"
#include "realtime/cpu.hpp"
#include "realtime/session.hpp"
#include "user_error.hpp"

namespace allocpool::realtime {
namespace {

// Ticks of a stress test; the full run sets a thousand million.
std::int64_t stress_ticks() {
  const char* const given = std::getenv("ALLOCPOOL_STRESS_TICKS");
  return given == nullptr ? 2'000'000 : std::atoll(given);
}

struct Destroy {
  void operator()(ap_realtime* realtime) const { ap_realtime_destroy(realtime); }
  void operator()(ap_packets* packets) const { ap_packets_destroy(packets); }
};
using Realtime = std::unique_ptr<ap_realtime, Destroy>;
using Packets = std::unique_ptr<ap_packets, Destroy>;

Realtime create(std::int64_t capacity, std::int64_t logs = 10'000) {
  char error[256] = "";
  Realtime realtime(ap_realtime_create(capacity, logs, logs, logs, error, sizeof error));
  EXPECT_NE(realtime, nullptr) << error;
  return realtime;
}

ap_source_config paced(double interval_ns, std::int64_t capacity, std::int64_t ticks) {
  return {interval_ns, capacity, ticks, 0, 1'000, 1'000'000, -1, "auto", 0};
}

ap_source_config saturating(std::int64_t capacity, std::int64_t ticks) { return paced(0, capacity, ticks); }

void start(const Realtime& realtime, const ap_source_config& config) {
  char error[256] = "";
  ASSERT_EQ(ap_realtime_start(realtime.get(), &config, error, sizeof error), 0) << error;
}

ap_consumption consume(const Realtime& realtime, ap_packets* packets = nullptr, ap_consumer_config config = {0, 0, 0}) {
  char error[256] = "";
  ap_consumption consumption{};
  EXPECT_EQ(ap_realtime_consume(realtime.get(), packets, &config, &consumption, error, sizeof error), 0) << error;
  return consumption;
}

void wait(const Realtime& realtime) { ASSERT_EQ(ap_realtime_wait(realtime.get()), AP_OK); }

ap_source_account account_of(const Realtime& realtime) {
  ap_source_account account;
  EXPECT_EQ(ap_realtime_get_account(realtime.get(), &account), AP_OK);
  return account;
}

std::string audit_of(const Realtime& realtime, const ap_consumption& consumption) {
  char message[256] = "";
  const ap_status status = ap_realtime_audit(realtime.get(), &consumption, message, sizeof message);
  EXPECT_EQ(status, message[0] == '\0' ? AP_OK : AP_FAULT);
  return message;
}

std::int64_t recorded_delays(const Realtime& realtime) {
  std::int64_t length = 0;
  const std::int64_t* const counts = ap_realtime_delays(realtime.get(), &length);
  return std::accumulate(counts, counts + length, std::int64_t{0});
}

std::int64_t take_one(RingReader& reader) {
  std::int64_t tick = 0;
  return reader.take(&tick, 1) == 1 ? tick : RingReader::kNone;
}

TEST(RingTest, holdsExactlyItsCapacity) {
  for (const std::int64_t capacity : {1, 2, 7, 64, 100}) {
    std::vector<Ring::Word> memory(Ring::bytes(capacity) / sizeof(Ring::Word) + 16);
    void* aligned = memory.data();
    std::size_t space = memory.size() * sizeof(Ring::Word);
    ASSERT_NE(std::align(RingHeader::kBlockBytes, Ring::bytes(capacity), aligned, space), nullptr);
    Ring ring(aligned);
    ring.reset(capacity);
    RingWriter writer(ring);
    RingReader reader(ring);
    std::int64_t tick = 0;
    std::int64_t expected = 0;
    for (int lap = 0; lap < 5; ++lap) {
      for (std::int64_t i = 0; i < capacity; ++i) ASSERT_TRUE(writer.offer(tick++)) << capacity;
      ASSERT_FALSE(writer.offer(tick)) << capacity;
      ASSERT_EQ(take_one(reader), expected);
      ASSERT_TRUE(writer.offer(tick)) << "one was taken, so one fits";
      ASSERT_FALSE(writer.offer(tick + 1));
      for (++expected; expected <= tick; ++expected) ASSERT_EQ(take_one(reader), expected);
      ASSERT_EQ(take_one(reader), RingReader::kNone);
      ++tick;
    }
  }
}

TEST(RingTest, skipsTheNumbersThatWereLost) {
  alignas(RingHeader::kBlockBytes) unsigned char memory[Ring::bytes(3)] = {};
  Ring ring(memory);
  ring.reset(3);
  RingWriter writer(ring);
  RingReader reader(ring);
  for (const std::int64_t tick : {5, 9, 1000}) ASSERT_TRUE(writer.offer(tick));
  for (const std::int64_t tick : {5, 9, 1000}) ASSERT_EQ(take_one(reader), tick);
  ASSERT_EQ(take_one(reader), RingReader::kNone);
}

TEST(RingTest, givesWhatThereIsAndFreesItAtOnce) {
  alignas(RingHeader::kBlockBytes) unsigned char memory[Ring::bytes(8)] = {};
  Ring ring(memory);
  ring.reset(8);
  RingWriter writer(ring);
  RingReader reader(ring);
  std::int64_t taken[8];
  for (const std::int64_t tick : {0, 1, 4, 5, 6}) ASSERT_TRUE(writer.offer(tick));
  ASSERT_EQ(reader.take(taken, 3), 3U);
  EXPECT_EQ(ring.header().consumed.load(), 3U);
  EXPECT_EQ(writer.room(), 6);
  for (const std::int64_t tick : {7, 8, 9, 10, 11, 12}) ASSERT_TRUE(writer.offer(tick));
  ASSERT_FALSE(writer.offer(13));
  EXPECT_EQ(std::vector<std::int64_t>(taken, taken + 3), (std::vector<std::int64_t>{0, 1, 4}));
  ASSERT_EQ(reader.take(taken, 8), 8U);
  EXPECT_EQ(std::vector<std::int64_t>(taken, taken + 8), (std::vector<std::int64_t>{5, 6, 7, 8, 9, 10, 11, 12}));
  ASSERT_EQ(reader.take(taken, 8), 0U);
  EXPECT_EQ(ring.header().consumed.load(), 11U);
}

template <class Visit>
void each_tick(Bursts& bursts, const Visit& visit) {
  for (Burst burst = bursts.next(); burst.count > 0; burst = bursts.next()) {
    std::for_each(burst.sequences, burst.sequences + burst.count, visit);
  }
}

// What the source could know to be taken, as each of `ticks` was handed on; all were waiting.
std::vector<std::int64_t> known_taken(std::int64_t capacity, std::int64_t ticks) {
  Session session({capacity, 10, 10, 1'000});
  session.start(paced(1, capacity, ticks));
  session.begin_consuming();
  Consumer consumer(session.ring(), session.delays(), 0, {0, 20'000'000});
  std::vector<std::int64_t> known;
  each_tick(consumer, [&](std::int64_t sequence) {
    known.push_back(static_cast<std::int64_t>(session.ring().header().consumed.load()) - sequence);
  });
  session.source().wait();
  EXPECT_EQ(session.account().lost, 0);
  return known;
}

TEST(ConsumerTest, hasASmallPartOfTheQueueInHand) {
  const auto most_in_hand = [](std::int64_t capacity) {
    const std::vector<std::int64_t> known = known_taken(capacity, capacity);
    EXPECT_EQ(known.size(), static_cast<std::size_t>(capacity));
    return *std::max_element(known.begin(), known.end());
  };
  EXPECT_EQ(most_in_hand(100), 1) << "a small queue frees a place as its tick is handed on, and no other";
  EXPECT_EQ(most_in_hand(4 * Consumer::kQueueParts), 4);
  EXPECT_EQ(most_in_hand(200 * Consumer::kQueueParts), Consumer::kLateBatch) << "far behind";
}

TEST(HistogramTest, tellsApartWhatIsFurtherApartThanItsResolution) {
  for (const std::int64_t delay_ns : {1'000LL, 5'000LL, 4'000'000LL, 123'456'789LL}) {
    const std::int64_t resolution_ns = DelayHistogram::resolution_ns(delay_ns);
    EXPECT_LE(DelayHistogram::index(delay_ns) - DelayHistogram::index(delay_ns - resolution_ns), 1U) << delay_ns;
    EXPECT_GE(DelayHistogram::index(delay_ns) - DelayHistogram::index(delay_ns - 4 * resolution_ns - 4), 1U);
  }
}

TEST(PaceTest, ofTheMachineIsToldAgainAndAgain) {
  for (int reading = 0; reading < 2; ++reading) {
    ap_machine_pace pace{};
    ASSERT_EQ(ap_read_machine_pace(&pace), AP_OK);
    EXPECT_GT(pace.compute_ns, 0);
    EXPECT_GT(pace.latency_ns, 0);
    EXPECT_GT(pace.bandwidth_gbs, 0);
  }
  EXPECT_EQ(ap_read_machine_pace(nullptr), AP_INVALID_ARGUMENT);
}

TEST(HistogramTest, hasTheBucketsOfHdrHistogram) {
  EXPECT_EQ(DelayHistogram::index(-5), 0U);
  EXPECT_EQ(DelayHistogram::index(0), 0U);
  EXPECT_EQ(DelayHistogram::index(2'047), 2'047U);
  EXPECT_EQ(DelayHistogram::index(2'048), 2'048U);
  EXPECT_EQ(DelayHistogram::index(2'049), 2'048U);
  EXPECT_EQ(DelayHistogram::index(4'095), 3'071U);
  EXPECT_EQ(DelayHistogram::index(4'096), 3'072U);
  EXPECT_EQ(DelayHistogram::index(1'000'000'000), 19U * 1'024 + (1'000'000'000U >> 19));
  EXPECT_LT(DelayHistogram::index(DelayHistogram::kHighestNs), DelayHistogram::kCounts);
  EXPECT_EQ(DelayHistogram::index(DelayHistogram::kHighestNs + 1), DelayHistogram::index(DelayHistogram::kHighestNs));
}

std::uint64_t three_per_ns() { return 3 * static_cast<std::uint64_t>(os::monotonic_ns()); }

TEST(TimelineTest, takesItsRateFromAnchorsFarApart) {
  Timeline timeline(three_per_ns, 20'000'000);
  for (int i = 0; i < 10; ++i) timeline.anchor();
  EXPECT_NEAR(timeline.units_per_ns(), 3, 3e-3);
  EXPECT_NEAR(timeline.drift_ppm(), 0, 1'000);
  const std::int64_t now_ns = os::monotonic_ns();
  EXPECT_NEAR(static_cast<double>(timeline.to_ns(3 * static_cast<std::uint64_t>(now_ns)) - now_ns), 0, 1e6);
}

class Clocks : public testing::TestWithParam<const char*> {
 protected:
  bool available() const { return std::string(GetParam()) == "clock_gettime" || tsc_is_invariant(); }
};

TEST_P(Clocks, paceTicksThatAreAllAccountedFor) {
  if (!available()) GTEST_SKIP() << "no invariant time-stamp counter here";
  const Realtime realtime = create(1'000);
  ap_source_config config = paced(777.7, 1'000, 100'000);
  config.warmup_ticks = 20'000;
  config.clock = GetParam();
  start(realtime, config);
  const ap_consumption consumption = consume(realtime);
  wait(realtime);
  const ap_source_account account = account_of(realtime);
  EXPECT_EQ(audit_of(realtime, consumption), "");
  EXPECT_EQ(account.generated, 100'000);
  EXPECT_EQ(account.warmup_generated, 20'000);
  EXPECT_EQ(account.left, 0);
  EXPECT_EQ(account.clock_is_tsc, std::string(GetParam()) == "tsc" ? 1 : 0);
  EXPECT_EQ(recorded_delays(realtime), consumption.received - consumption.warmup_received);
  // No tick is early: the last is due 99,999 intervals after t0, and the source is never done before.
  EXPECT_GE(account.end_ns - account.t0_ns, static_cast<std::int64_t>(99'999 * 777.7 - account.clock_max_error_ns));
  EXPECT_GT(account.cpu_ns, 0);
}

INSTANTIATE_TEST_SUITE_P(Realtime, Clocks, testing::Values("tsc", "clock_gettime"),
                         [](const auto& info) { return std::string(info.param); });

TEST(SourceTest, keepsItsScheduleWhenTicksComeFasterThanTheyAreConsumed) {
  const Realtime realtime = create(100);
  start(realtime, paced(0.5, 100, 3'000'000));
  const ap_consumption consumption = consume(realtime);
  wait(realtime);
  const ap_source_account account = account_of(realtime);
  EXPECT_EQ(account.generated, 3'000'000);
  EXPECT_EQ(account.generated, consumption.received + account.lost);
  EXPECT_EQ(audit_of(realtime, consumption), "");
}

TEST(SourceTest, startsAgainWithAnotherInterval) {
  const Realtime realtime = create(50'000);
  for (const double interval_ns : {1'000.0, 250.5, 0.0, 40.0, 500.0}) {
    const auto capacity = static_cast<std::int64_t>(interval_ns > 0 ? 5'000'000 / interval_ns : 512);
    start(realtime, paced(interval_ns, std::min<std::int64_t>(capacity, 50'000), 20'000));
    const ap_consumption consumption = consume(realtime);
    wait(realtime);
    EXPECT_EQ(audit_of(realtime, consumption), "") << interval_ns;
    EXPECT_EQ(account_of(realtime).generated, 20'000);
    EXPECT_EQ(recorded_delays(realtime), interval_ns > 0 ? consumption.received : 0);
  }
}

TEST(SourceTest, countsWhatTheConsumerLeaves) {
  const Realtime realtime = create(300);
  ap_source_config config = saturating(300, 1'000'000);
  config.warmup_ticks = 5'100;
  start(realtime, config);
  const ap_consumption consumption = consume(realtime, nullptr, {5'000, 0, 0});
  EXPECT_EQ(consumption.received, 5'000);
  // The source fills the ring and then waits; it is stopped once it cannot go on.
  const auto& header = *static_cast<RingHeader*>(ap_realtime_memory(realtime.get()));
  const Ring ring(ap_realtime_memory(realtime.get()));
  while (ring.slots()[(5'000 + 191) % 300].load() < 5'192) cpu_relax();
  ASSERT_EQ(ap_realtime_stop(realtime.get()), AP_OK);
  EXPECT_EQ(header.consumed.load(), 5'000U);
  const ap_source_account account = account_of(realtime);
  EXPECT_GE(account.left, 192);
  EXPECT_LE(account.left, 300);
  EXPECT_EQ(account.warmup_left, 100);
  EXPECT_EQ(account.generated, 5'000 + account.left);
  EXPECT_EQ(audit_of(realtime, consumption), "");
}

TEST(SourceTest, losesWhatAStoppedConsumerCannotTake) {
  // 40 ms without a consumer at 1,000 ns are 40,000 ticks, of which the queue keeps 5,000.
  const Realtime realtime = create(5'000);
  start(realtime, paced(1'000, 5'000, 100'000));
  const ap_consumption consumption = consume(realtime, nullptr, {0, 10'000'000, 40'000'000});
  wait(realtime);
  const ap_source_account account = account_of(realtime);
  EXPECT_EQ(audit_of(realtime, consumption), "");
  EXPECT_GE(consumption.stalled_ns, 40'000'000);
  const std::int64_t slipped_ticks = account.slip_total_ns / 1'000;
  EXPECT_GE(account.lost, 35'000 - slipped_ticks - 1);
  std::int64_t count = 0;
  std::int64_t overflow = 0;
  const ap_burst* const bursts = ap_realtime_bursts(realtime.get(), &count, &overflow);
  ASSERT_GE(count, 1);
  EXPECT_EQ(overflow, 0);
  std::int64_t lost = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0) {
      EXPECT_GT(bursts[i].start_sequence, bursts[i - 1].end_sequence + 1) << "one burst, not two";
    }
    lost += bursts[i].count;
    EXPECT_LE(bursts[i].count, bursts[i].end_sequence - bursts[i].start_sequence + 1);
    EXPECT_LE(bursts[i].start_ns, bursts[i].end_ns);
    EXPECT_GE(bursts[i].start_ns, account.t0_ns);
  }
  EXPECT_EQ(lost, account.lost);
}

void set_intermediate(const Realtime& realtime, std::int64_t capacity) {
  char error[256] = "";
  ASSERT_EQ(ap_realtime_set_intermediate(realtime.get(), capacity, error, sizeof error), AP_OK) << error;
}

TEST(RelayTest, countersAreExactWhileTheConsumerStands) {
  const Realtime realtime = create(5'000);
  set_intermediate(realtime, 100'000);
  start(realtime, paced(1'000, 5'000, 100'000));
  const ap_consumption consumption = consume(realtime, nullptr, {0, 10'000'000, 40'000'000});
  wait(realtime);
  const ap_source_account account = account_of(realtime);
  EXPECT_EQ(audit_of(realtime, consumption), "");
  EXPECT_EQ(account.generated, 100'000);
  EXPECT_EQ(account.generated, consumption.received + account.lost);
  EXPECT_EQ(recorded_delays(realtime), consumption.received);
}

TEST(RelayTest, losesInTheInputQueueWhatDoesNotFitAndCountsWhatIsLeftInBoth) {
  const Realtime realtime = create(300);
  for (const bool again : {false, true}) {
    set_intermediate(realtime, 500);
    ap_source_config config = paced(1'000, 300, 100'000);
    config.warmup_ticks = 1'100;
    start(realtime, config);
    const ap_consumption consumption = consume(realtime, nullptr, {1'000, 0, 0});
    wait(realtime);
    const ap_source_account account = account_of(realtime);
    EXPECT_EQ(audit_of(realtime, consumption), "") << again;
    EXPECT_EQ(consumption.received, 1'000);
    EXPECT_EQ(account.left, 800) << "both are full";
    EXPECT_GT(account.lost, 0);
    EXPECT_EQ(account.generated, 1'000 + account.lost + account.left);
  }
}

TEST(RelayTest, aTickThatVanishedOnTheWayIsFound) {
  const Realtime realtime = create(300);
  set_intermediate(realtime, 500);
  start(realtime, paced(1'000, 300, 100'000));
  const ap_consumption consumption = consume(realtime, nullptr, {1'000, 0, 0});
  wait(realtime);
  ASSERT_EQ(audit_of(realtime, consumption), "");
  const Ring ring(ap_realtime_memory(realtime.get()));
  ring.slots()[1'000 % 500].store(0);
  EXPECT_NE(audit_of(realtime, consumption), "");
}

TEST(RelayTest, anImpossibleOneIsRefused) {
  const Realtime realtime = create(300);
  char error[256] = "";
  EXPECT_EQ(ap_realtime_set_intermediate(realtime.get(), -1, error, sizeof error), AP_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error).find("intermediate queue is -1"), std::string::npos);
}

TEST(SourceTest, splitsBurstsAtTheEndOfTheWarmUpAndCountsThoseThatDoNotFit) {
  const Realtime realtime = create(10, 1);
  ap_source_config config = paced(1'000, 10, 30'000);
  config.warmup_ticks = 15'000;
  config.burst_gap_ns = 1'000'000'000;
  start(realtime, config);
  const ap_consumption consumption = consume(realtime, nullptr, {0, 5'000'000, 20'000'000});
  wait(realtime);
  EXPECT_EQ(audit_of(realtime, consumption), "");
  EXPECT_GT(account_of(realtime).warmup_lost, 0);
  std::int64_t count = 0;
  std::int64_t overflow = 0;
  const ap_burst* const bursts = ap_realtime_bursts(realtime.get(), &count, &overflow);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(overflow, 1);
  EXPECT_LT(bursts[0].end_sequence, 15'000);
  EXPECT_EQ(bursts[0].count, account_of(realtime).warmup_lost);
}

#if defined(__linux__)
TEST(SourceTest, staysWhereItIsTiedToAndSaysWhereItRan) {
  const Realtime realtime = create(1'000);
  ap_source_config config = paced(1'000, 1'000, 250'000);
  start(realtime, config);
  consume(realtime);
  wait(realtime);
  const std::int64_t processor = account_of(realtime).processor;
  EXPECT_EQ(account_of(realtime).pinned, 0);
  ASSERT_GE(processor, 0);
  config.processor = processor;  // one that this process may use
  start(realtime, config);
  consume(realtime);
  wait(realtime);
  EXPECT_EQ(account_of(realtime).pinned, 1);
  EXPECT_EQ(account_of(realtime).processor, processor);
  EXPECT_EQ(account_of(realtime).moves, 0);
  EXPECT_GE(ap_current_processor(), 0) << "where the consumer runs";
}
#endif

TEST(SourceTest, samplesItsCounters) {
  const Realtime realtime = create(1'000);
  start(realtime, paced(2'000, 1'000, 100'000));
  const ap_consumption consumption = consume(realtime);
  wait(realtime);
  std::int64_t count = 0;
  std::int64_t overflow = 0;
  const ap_sample* const samples = ap_realtime_samples(realtime.get(), &count, &overflow);
  ASSERT_GE(count, 3);
  EXPECT_EQ(samples[0].generated, 0);
  for (std::int64_t i = 1; i < count; ++i) {
    EXPECT_GE(samples[i].time_ns, samples[i - 1].time_ns);
    EXPECT_GE(samples[i].generated, samples[i - 1].generated);
  }
  EXPECT_EQ(samples[count - 1].generated, 100'000);
  EXPECT_EQ(samples[count - 1].lost, account_of(realtime).lost);
  EXPECT_EQ(audit_of(realtime, consumption), "");
}

TEST(StressTest, randomStallsKeepTheOrderAndTheBooks) {
  for (const double interval_ns : {0.0, 20.0}) {
    Session session({4'096, 1'000, 1'000, 1'000});
    const std::int64_t ticks = stress_ticks();
    session.start(paced(interval_ns, 4'096, ticks));
    session.begin_consuming();
    Consumer consumer(session.ring(), session.delays());
    std::mt19937_64 random(17);
    std::int64_t previous = -1;
    std::int64_t disorders = 0;
    std::int64_t until_stall = 1'000;
    each_tick(consumer, [&](std::int64_t sequence) {
      if (sequence <= previous) ++disorders;
      previous = sequence;
      if (--until_stall > 0) return;
      until_stall = static_cast<std::int64_t>(random() % 100'000);
      const std::int64_t end_ns = os::monotonic_ns() + static_cast<std::int64_t>(random() % 300'000);
      while (os::monotonic_ns() < end_ns) cpu_relax();
    });
    session.source().wait();
    const ap_consumption& consumption = consumer.account();
    EXPECT_EQ(disorders, 0);
    EXPECT_EQ(session.audit(consumption), "") << interval_ns;
    EXPECT_EQ(session.account().generated, ticks);
    if (interval_ns == 0) {
      EXPECT_EQ(consumption.received, ticks);
    }
  }
}

TEST(AuditTest, findsEveryKindOfWrongBook) {
  const Realtime realtime = create(100);
  start(realtime, paced(10, 100, 50'000));
  const ap_consumption consumption = consume(realtime, nullptr, {40'000, 0, 0});
  wait(realtime);
  ASSERT_EQ(audit_of(realtime, consumption), "");
  ap_consumption wrong = consumption;
  ++wrong.received;
  EXPECT_NE(audit_of(realtime, wrong).find("published"), std::string::npos);
  wrong = consumption;
  ++wrong.missing;
  EXPECT_NE(audit_of(realtime, wrong).find("the gaps in the sequence"), std::string::npos);
  wrong = consumption;
  ++wrong.warmup_received;
  EXPECT_NE(audit_of(realtime, wrong).find("generated in the warm-up"), std::string::npos);
}

TEST(AuditTest, findsATickThatVanishedFromTheRing) {
  const Realtime realtime = create(300);
  start(realtime, saturating(300, 1'000));
  const ap_consumption consumption = consume(realtime, nullptr, {900, 0, 0});
  wait(realtime);
  ASSERT_EQ(audit_of(realtime, consumption), "");
  const Ring ring(ap_realtime_memory(realtime.get()));
  ring.slots()[999 % 300].store(0);
  EXPECT_EQ(audit_of(realtime, consumption), "generated 1000 is not received + lost + left 999");
}

class RealtimeContract : public testing::TestWithParam<Combination> {};

std::uint64_t checksum_of(const Packets& packets) {
  std::uint64_t checksum = 0;
  EXPECT_EQ(ap_packets_get_checksum(packets.get(), &checksum), AP_OK);
  return checksum;
}

TEST_P(RealtimeContract, doesTheSameWorkAsInBatch) {
  const auto& [layout, strategy, memory] = GetParam();
  const std::int64_t pool_size = strategy == "mix" ? 50 : 161;
  // The names of the registry are string literals.
  const ap_packets_config config{layout.data(), strategy.data(), memory.data(), pool_size, 100, 60, 42, nullptr, 1, 0, 0};
  char error[256] = "";
  const Packets live(ap_packets_create(&config, error, sizeof error));
  const Packets batch(ap_packets_create(&config, error, sizeof error));
  const Realtime realtime = create(512);
  start(realtime, saturating(512, 30'000));  // a saturating source loses nothing
  const ap_consumption consumption = consume(realtime, live.get());
  wait(realtime);
  EXPECT_EQ(audit_of(realtime, consumption), "");
  EXPECT_EQ(consumption.received, 30'000);
  ap_iteration iteration;
  ASSERT_EQ(ap_packets_run_packets(batch.get(), 30'000, 30'000, &iteration, 1), 1);
  EXPECT_EQ(checksum_of(live), checksum_of(batch));
  char message[256] = "";
  EXPECT_EQ(ap_packets_audit(live.get(), message, sizeof message), 0) << message;

  start(realtime, paced(20, 512, 200'000));  // too fast for most
  const ap_consumption overload = consume(realtime, live.get());
  wait(realtime);
  EXPECT_EQ(audit_of(realtime, overload), "");
  EXPECT_EQ(ap_packets_audit(live.get(), message, sizeof message), 0) << message;
  ap_packets_counts counts;
  ASSERT_EQ(ap_packets_get_counts(live.get(), &counts), AP_OK);
  EXPECT_EQ(counts.received, 30'000 + overload.received);
}

INSTANTIATE_TEST_SUITE_P(Realtime, RealtimeContract, testing::ValuesIn(combinations()),
                         [](const auto& info) { return test::name_of(info.param); });

std::string capacity_error(double input_queue_ms, double interval_ns) {
  char error[256] = "";
  EXPECT_EQ(ap_realtime_capacity(input_queue_ms, interval_ns, error, sizeof error), AP_INVALID_ARGUMENT);
  return error;
}

TEST(RealtimeErrors, capacityIsExactOrRefused) {
  EXPECT_EQ(ap_realtime_capacity(100, 10, nullptr, 0), 10'000'000);
  EXPECT_EQ(ap_realtime_capacity(100, 1'000, nullptr, 0), 100'000);
  EXPECT_EQ(ap_realtime_capacity(0.3, 0.1, nullptr, 0), 3'000'000);
  EXPECT_EQ(capacity_error(0, 1'000), "input_queue_ms is 0: it must be above 0");
  EXPECT_EQ(capacity_error(-1, 1'000), "input_queue_ms is -1: it must be above 0");
  EXPECT_EQ(capacity_error(100, 0), "interval_ns is 0: it must be above 0 and at most 1000000000");
  EXPECT_EQ(capacity_error(100, -2.5), "interval_ns is -2.5: it must be above 0 and at most 1000000000");
  EXPECT_EQ(capacity_error(10'000, 1),
            "input_queue_ms 10000 at interval_ns 1 is 10000000000 ticks: a ring holds from 1 to " +
                std::to_string(ap_realtime_max_capacity()));
  EXPECT_NE(capacity_error(0.0001, 1'000).find("is 0 ticks"), std::string::npos);
  EXPECT_NE(capacity_error(std::nan(""), 1'000), "");
}

TEST(RealtimeErrors, aRingThatIsTooLargeIsRefused) {
  char error[256] = "";
  for (const std::int64_t capacity : {std::int64_t{0}, ap_realtime_max_capacity() + 1, std::int64_t{1} << 61}) {
    EXPECT_EQ(ap_realtime_create(capacity, 1, 1, 1, error, sizeof error), nullptr);
    EXPECT_EQ(std::string(error), "max_capacity is " + std::to_string(capacity) + ": it must be from 1 to " +
                                      std::to_string(ap_realtime_max_capacity()));
  }
  EXPECT_EQ(ap_realtime_create(1, -1, 1, 1, error, sizeof error), nullptr);
  EXPECT_EQ(std::string(error).find("max_bursts is -1: it must be from 0 to "), 0U);
}

TEST(RealtimeErrors, aRunOutOfBoundsIsRefused) {
  const Realtime realtime = create(100);
  const auto error_of = [&](ap_source_config config) -> std::string {
    char error[256] = "";
    EXPECT_EQ(ap_realtime_start(realtime.get(), &config, error, sizeof error), AP_INVALID_ARGUMENT);
    return error;
  };
  EXPECT_EQ(error_of(paced(-1, 100, 10)),
            "interval_ns is -1: it must be 0 (saturate) or above, and at most 1000000000");
  EXPECT_EQ(error_of(paced(10, 101, 10)), "capacity is 101: it must be from 1 to 100");
  EXPECT_EQ(error_of(paced(10, 0, 10)), "capacity is 0: it must be from 1 to 100");
  EXPECT_NE(error_of(paced(10, 100, 0)).find("ticks is 0"), std::string::npos);
  ap_source_config config = paced(10, 100, 10);
  config.warmup_ticks = 11;
  EXPECT_EQ(error_of(config), "warmup_ticks is 11: it must be from 0 to 10");
  config = paced(10, 100, 10);
  config.clock = "sundial";
  EXPECT_EQ(error_of(config), "unknown clock 'sundial': choose one of auto,tsc,clock_gettime");
  config = paced(10, 100, 10);
  config.processor = 1'000'000;
  EXPECT_NE(error_of(config).find("processor is 1000000: it must be from -1 to "), std::string::npos);
}

TEST(RealtimeErrors, callsOutOfOrderAreRefused) {
  const Realtime realtime = create(100);
  char error[256] = "";
  const ap_consumer_config all{0, 0, 0};
  ap_consumption consumption;
  EXPECT_EQ(ap_realtime_consume(realtime.get(), nullptr, &all, &consumption, error, sizeof error), AP_INVALID_ARGUMENT);
  EXPECT_STREQ(error, "the source was not started: start it before consuming");
  const ap_source_config config = saturating(100, 1'000);
  start(realtime, config);
  EXPECT_EQ(ap_realtime_start(realtime.get(), &config, error, sizeof error), AP_INVALID_ARGUMENT);
  EXPECT_STREQ(error, "the source is running: wait for it or stop it before it is started again");
  consume(realtime);
  EXPECT_EQ(ap_realtime_consume(realtime.get(), nullptr, &all, &consumption, error, sizeof error), AP_INVALID_ARGUMENT);
  EXPECT_STREQ(error, "this run has its consumer: start the source again first");
}

TEST(RealtimeErrors, aSourceWithoutConsumerCanBeStopped) {
  const Realtime realtime = create(100);
  start(realtime, saturating(100, 1'000));
  ASSERT_EQ(ap_realtime_stop(realtime.get()), AP_OK);
  EXPECT_EQ(account_of(realtime).generated, 0);
  EXPECT_EQ(account_of(realtime).left, 0);
}

}  // namespace
}  // namespace allocpool::realtime
