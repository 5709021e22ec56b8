// Every layout and strategy does the same work, and does it by the rules of the model.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "allocation_counter.hpp"
#include "allocpool.h"
#include "names.hpp"
#include "packets/layout_allocating.hpp"
#include "packets/layout_flat.hpp"
#include "packets/processor.hpp"
#include "packets/registry.hpp"
#include "packets/strategy_alloc.hpp"
#include "packets/strategy_pool.hpp"

namespace allocpool {
namespace {

constexpr std::int64_t kQueue = 100;
constexpr std::int64_t kStore = 60;
constexpr std::uint64_t kSeed = 42;

ap_packets_config config(const std::string& layout, const std::string& strategy) {
  return {layout.c_str(), strategy.c_str(), strategy == "mix" ? 50 : kQueue + kStore + 1, kQueue, kStore, kSeed};
}

struct Handle {
  explicit Handle(const ap_packets_config& config) : packets(ap_packets_create(&config, error, sizeof error)) {}
  ~Handle() { ap_packets_destroy(packets); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  char error[256] = "";
  ap_packets* packets;
};

ap_packets_counts counts_of(const ap_packets* packets) {
  ap_packets_counts counts;
  ap_packets_get_counts(packets, &counts);
  return counts;
}

class Contract : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  const std::string layout_ = std::get<0>(GetParam());
  const std::string strategy_ = std::get<1>(GetParam());
};

TEST_P(Contract, doesTheSameWorkAsAnyOther) {
  Handle reference(config("flat", "alloc"));
  Handle handle(config(layout_, strategy_));
  ASSERT_NE(handle.packets, nullptr) << handle.error;
  std::vector<ap_iteration> iterations(100);
  for (ap_packets* packets : {reference.packets, handle.packets}) {
    ASSERT_EQ(ap_packets_run_packets(packets, 20'050, 1'000, iterations.data(), 100), 21);
    EXPECT_EQ(iterations[20].packets, 50);
  }
  const ap_packets_counts counts = counts_of(handle.packets);
  EXPECT_EQ(counts.received, 20'050);
  EXPECT_EQ(counts.parsed, 20'050 - kQueue);
  EXPECT_EQ(counts.allocated, counts.received);
  EXPECT_EQ(counts.allocated, counts.freed + counts.live);
  char message[256] = "";
  EXPECT_EQ(ap_packets_audit(handle.packets, message, sizeof message), 0) << message;
  if (strategy_ == "dummy") return;  // its packet holds the newest header whichever is parsed
  const ap_packets_counts expected = counts_of(reference.packets);
  EXPECT_EQ(counts.tcp, expected.tcp);
  EXPECT_EQ(counts.evicted, expected.evicted);
  EXPECT_EQ(counts.evicted, counts.tcp - kStore);
  EXPECT_EQ(counts.live, kQueue + kStore);
  EXPECT_EQ(ap_packets_checksum(handle.packets), ap_packets_checksum(reference.packets));
}

TEST_P(Contract, checksumIsAQuery) {
  Handle handle(config(layout_, strategy_));
  ap_iteration iteration;
  ap_packets_run_packets(handle.packets, 5'000, 5'000, &iteration, 1);
  const std::uint64_t checksum = ap_packets_checksum(handle.packets);
  EXPECT_EQ(ap_packets_checksum(handle.packets), checksum);
  ap_packets_run_packets(handle.packets, 1'000, 1'000, &iteration, 1);
  EXPECT_NE(ap_packets_checksum(handle.packets), checksum);
}

TEST_P(Contract, runsContinueTheSequence) {
  Handle whole(config(layout_, strategy_));
  Handle parts(config(layout_, strategy_));
  ap_iteration iteration;
  ap_packets_run_packets(whole.packets, 9'000, 9'000, &iteration, 1);
  for (int i = 0; i < 9; ++i) ap_packets_run_packets(parts.packets, 1'000, 300, &iteration, 1);
  EXPECT_EQ(ap_packets_checksum(whole.packets), ap_packets_checksum(parts.packets));
}

TEST_P(Contract, allocatesWhatTheModelSays) {
  Handle handle(config(layout_, strategy_));
  ap_iteration iteration;
  ap_packets_run_packets(handle.packets, 10'000, 10'000, &iteration, 1);
  const ap_packets_counts before = counts_of(handle.packets);
  const std::int64_t allocations = test::allocations();
  ap_packets_run_packets(handle.packets, 10'000, 10'000, &iteration, 1);
  const std::int64_t allocated = test::allocations() - allocations;
  const ap_packets_counts after = counts_of(handle.packets);
  const std::int64_t per_parse = layout_ == "allocating" ? 4 : 0;  // result, header, two addresses
  EXPECT_EQ(allocated, (after.parsed - before.parsed) * per_parse + after.constructed - before.constructed);
  const std::int64_t constructed = after.constructed - before.constructed;
  if (strategy_ == "alloc") {
    EXPECT_EQ(constructed, 10'000);
    EXPECT_EQ(after.discarded, after.freed);
  } else if (strategy_ != "mix") {
    EXPECT_EQ(constructed, 0);
    EXPECT_EQ(after.discarded, 0);
  }
}

TEST_P(Contract, runsForAGivenTime) {
  Handle handle(config(layout_, strategy_));
  std::vector<ap_iteration> iterations(2);
  const std::int64_t written = ap_packets_run_for(handle.packets, 3'000'000, 500'000, iterations.data(), 2);
  ASSERT_GE(written, 1);
  std::int64_t packets = 0;
  for (std::int64_t i = 0; i < written; ++i) packets += iterations[i].packets;
  EXPECT_EQ(packets, counts_of(handle.packets).received);
  EXPECT_GE(iterations[written - 1].end_ns - iterations[0].start_ns, 3'000'000);
}

INSTANTIATE_TEST_SUITE_P(Packets, Contract,
                         testing::Combine(testing::ValuesIn(test::split(ap_packets_layouts())),
                                          testing::ValuesIn(test::split(ap_packets_strategies()))),
                         [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

TEST(Mix, constructsBeyondThePoolAndDiscardsWhatDoesNotFitBack) {
  const Sizes sizes{50, kQueue, kStore};
  const auto workload = make_workload("flat", "mix", sizes, kSeed);
  workload->run(50);
  EXPECT_EQ(workload->counts().constructed, 0);
  workload->run(50);
  EXPECT_EQ(workload->counts().constructed, 50);
  EXPECT_EQ(workload->counts().discarded, 0);
}

template <class T>
class Audit : public testing::Test {};
using PooledLayouts = testing::Types<AllocatingLayout, FlatLayout>;
TYPED_TEST_SUITE(Audit, PooledLayouts);

TYPED_TEST(Audit, findsAPacketThatIsGivenBackWhileQueued) {
  Processor<TypeParam, PoolStrategy<TypeParam>> processor({200, kQueue, kStore}, kSeed);
  processor.run(1'000);
  ASSERT_EQ(processor.audit(), "");
  processor.strategy().give_back(processor.queued(3));
  EXPECT_NE(processor.audit().find("one packet is in two places: "), std::string::npos) << processor.audit();
  EXPECT_NE(processor.audit().find("FIFO slot 3"), std::string::npos) << processor.audit();
}

TYPED_TEST(Audit, findsAPacketThatIsGivenBackTwice) {
  Processor<TypeParam, PoolStrategy<TypeParam>> processor({300, kQueue, kStore}, kSeed);
  processor.run(1'000);
  auto* const packet = processor.strategy().obtain();
  processor.strategy().give_back(packet);
  ASSERT_EQ(processor.audit(), "");
  processor.strategy().give_back(packet);
  EXPECT_EQ(processor.audit().find("one packet is in two places: pool slot "), 0U) << processor.audit();
}

TYPED_TEST(Audit, findsAHeaderThatWasOverwritten) {
  Processor<TypeParam, PoolStrategy<TypeParam>> processor({200, kQueue, kStore}, kSeed);
  processor.run(10);
  processor.queued(0)->buffer[0] = 0;
  processor.run(kQueue);
  EXPECT_EQ(processor.audit(), "1 packets reached the parser without the protocol marker");
}

std::string error_of(const ap_packets_config& config) {
  Handle handle(config);
  EXPECT_EQ(handle.packets, nullptr);
  return handle.error;
}

TEST(Errors, areOneLineThatNamesTheChoices) {
  EXPECT_EQ(error_of({"heap", "pool", 10, 10, 10, 1}), "unknown layout 'heap': choose one of " + layout_names());
  EXPECT_EQ(error_of({"flat", "slab", 10, 10, 10, 1}), "unknown strategy 'slab': choose one of " + strategy_names());
  EXPECT_EQ(error_of({"flat", "pool", 20, 10, 10, 1}),
            "pool_size is 20: strategy pool needs at least 21 (queue_size + stored_count + 1)");
  EXPECT_EQ(error_of({"flat", "alloc", 0, 0, 10, 1}), "queue_size is 0: it must be from 1 to 2147483647");
  EXPECT_EQ(error_of({"flat", "alloc", 0, 10, -1, 1}), "stored_count is -1: it must be from 1 to 2147483647");
  EXPECT_EQ(error_of({"flat", "mix", std::int64_t{1} << 31, 10, 10, 1}),
            "pool_size is 2147483648: it must be from 1 to 2147483647");
  EXPECT_NE(error_of({nullptr, "mix", 1, 1, 1, 1}).find("layouts are allocating,flat"), std::string::npos);
}

TEST(Errors, refuseMoreMemoryThanTheMachineHas) {
  const ap_packets_config huge{"flat", "mix", 2'147'483'647, 2'147'483'647, 2'147'483'647, 1};
  EXPECT_NE(error_of(huge).find("choose smaller sizes"), std::string::npos);
}

TEST(Errors, areCutToTheCallersBuffer) {
  const ap_packets_config wrong{"heap", "pool", 10, 10, 10, 1};
  char error[10];
  EXPECT_EQ(ap_packets_create(&wrong, error, sizeof error), nullptr);
  EXPECT_STREQ(error, "unknown l");
  EXPECT_EQ(ap_packets_create(&wrong, nullptr, 0), nullptr);
}

TEST(Errors, runsRefuseInvalidArguments) {
  Handle handle(config("flat", "pool"));
  ap_iteration out;
  EXPECT_EQ(ap_packets_run_packets(handle.packets, -1, 1, &out, 1), -1);
  EXPECT_EQ(ap_packets_run_packets(handle.packets, 1, 0, &out, 1), -1);
  EXPECT_EQ(ap_packets_run_packets(handle.packets, 1, 1, nullptr, 1), -1);
  EXPECT_EQ(ap_packets_run_packets(handle.packets, 1, 1, &out, 0), -1);
  EXPECT_EQ(ap_packets_run_for(handle.packets, -1, 1, &out, 1), -1);
  EXPECT_EQ(ap_packets_run_for(handle.packets, 1, 0, &out, 1), -1);
  EXPECT_EQ(counts_of(handle.packets).received, 0);
}

}  // namespace
}  // namespace allocpool
