// Every layout and strategy does the same work, and does it by the rules of the model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "allocation_counter.hpp"
#include "allocpool.h"
#include "names.hpp"
#include "packets/layout_allocating.hpp"
#include "packets/layout_flat.hpp"
#include "packets/layout_flat_pmr.hpp"
#include "packets/layout_slab.hpp"
#include "packets/processor.hpp"
#include "packets/registry.hpp"
#include "packets/slab_steps.hpp"
#include "packets/strategy_alloc.hpp"
#include "packets/strategy_pool.hpp"

namespace allocpool {
namespace {

constexpr std::int64_t kQueue = 100;
constexpr std::int64_t kStore = 60;
constexpr std::uint64_t kSeed = 42;

ap_packets_config config(const std::string& layout, const std::string& strategy) {
  const std::int64_t pool_size = strategy == "mix" ? 50 : kQueue + kStore + 1;
  return {layout.c_str(), strategy.c_str(), pool_size, kQueue, kStore, kSeed, nullptr};
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

TEST(Boost, isThereIfItsVersionIs) {
  const std::vector<std::string> flat = test::split(strategy_names_of("flat"));
  const bool offered = std::find(flat.begin(), flat.end(), "boost_pool") != flat.end();
  EXPECT_EQ(offered, std::string(ap_boost_version()) != "");
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
  const std::int64_t constructed = after.constructed - before.constructed;
  const bool resource = strategy_.rfind("pmr_", 0) == 0 || strategy_ == "boost_pool";
  if (resource) {
    EXPECT_LT(allocated, constructed / 10);  // a resource asks for many packets at once
  } else {
    const std::int64_t per_parse = layout_ == "allocating" ? 4 : 0;  // result, header, two addresses
    EXPECT_EQ(allocated, (after.parsed - before.parsed) * per_parse + constructed);
  }
  if (strategy_ == "alloc" || resource) {
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

INSTANTIATE_TEST_SUITE_P(Packets, Contract, testing::ValuesIn(test::combinations()),
                         [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

// Every combination of the steps, also those that are no rung of the ladder.
class Steps : public testing::TestWithParam<int> {
 protected:
  Steps() : steps_("contiguous") {
    const std::vector<std::string> all = test::split(ap_packets_steps());
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (GetParam() >> (i - 1) & 1) steps_ += "," + all[i];
    }
  }

  ap_packets_config slab() const {
    return {"slab", "pool", kQueue + kStore + 1, kQueue, kStore, kSeed, steps_.c_str()};
  }

 private:
  std::string steps_;
};

TEST_P(Steps, doTheSameWork) {
  Handle reference({"flat", "pool", kQueue + kStore + 1, kQueue, kStore, kSeed, nullptr});
  Handle handle(slab());
  ASSERT_NE(handle.packets, nullptr) << handle.error;
  ap_iteration iteration;
  for (ap_packets* packets : {reference.packets, handle.packets}) {
    ap_packets_run_packets(packets, 20'050, 20'050, &iteration, 1);
  }
  EXPECT_EQ(ap_packets_checksum(handle.packets), ap_packets_checksum(reference.packets));
  char message[256] = "";
  EXPECT_EQ(ap_packets_audit(handle.packets, message, sizeof message), 0) << message;
}

INSTANTIATE_TEST_SUITE_P(Slab, Steps, testing::Range(0, 16));

template <class T>
class SlabBuffers : public testing::Test {};
using SlabVariants = testing::Types<SlabLayout<false, false, true>, SlabLayout<false, true, true>,
                                    SlabLayout<true, false, true>, SlabLayout<true, true, true>>;
TYPED_TEST_SUITE(SlabBuffers, SlabVariants);

TYPED_TEST(SlabBuffers, holdHeaderPayloadAndParseResultApart) {
  constexpr std::int64_t kPackets = 5'000;
  TypeParam slab(kPackets, false);
  for (std::int64_t i = 0; i < kPackets; ++i) {
    const auto packet = slab.construct();
    write_header(slab.header(packet), drawn_fields(kSeed, packet));
    slab.parse(packet);
    const std::uint8_t* const payload = slab.payload(packet);
    std::memset(const_cast<std::uint8_t*>(payload), static_cast<int>(packet % 251), TypeParam::kPayloadBytes);
    const auto* const end = static_cast<const std::uint8_t*>(slab.region().address) + slab.region().bytes;
    ASSERT_LE(payload + TypeParam::kPayloadBytes, end);
  }
  for (std::uint32_t packet = 0; packet < kPackets; ++packet) {
    const Fields expected = drawn_fields(kSeed, packet);
    ASSERT_EQ(fold(0, read_header(slab.header(packet))), fold(0, expected)) << packet;
    ASSERT_EQ(fold(0, slab.fields(packet)), fold(0, expected)) << packet;
    const std::uint8_t* const payload = slab.payload(packet);
    const auto is_own = [&](int byte) { return byte == static_cast<int>(packet % 251); };
    ASSERT_TRUE(std::all_of(payload, payload + TypeParam::kPayloadBytes, is_own)) << packet;
  }
  EXPECT_GE(slab.region().bytes, kPackets * static_cast<std::int64_t>(kBufferBytes));
  EXPECT_THROW(slab.construct(), std::bad_alloc);
}

TEST(Slab, startsWithAllStepsOn) {
  const SlabSteps steps = parse_slab_steps(nullptr);
  EXPECT_TRUE(steps.one_line && steps.stride && steps.huge_pages && steps.prefetch);
  const SlabSteps one = parse_slab_steps("contiguous,stride");
  EXPECT_TRUE(one.stride && !one.one_line && !one.huge_pages && !one.prefetch);
}

TEST(Slab, worksWithAQueueShorterThanThePrefetchDistance) {
  for (std::int64_t queue = 1; queue < 70; ++queue) {
    const Sizes sizes{queue + 3, queue, 2};
    const auto slab = make_workload("slab", "pool", sizes, kSeed);
    const auto flat = make_workload("flat", "pool", sizes, kSeed);
    slab->run(2'000);
    flat->run(2'000);
    ASSERT_EQ(slab->checksum(), flat->checksum()) << queue;
    ASSERT_EQ(slab->audit(), "");
  }
}

TEST(Pmr, monotonicEndsByMemoryWithoutHarm) {
  std::pmr::memory_resource* const upstream = std::pmr::null_memory_resource();
  Processor<FlatPmrLayout<std::pmr::monotonic_buffer_resource>,
            AllocStrategy<FlatPmrLayout<std::pmr::monotonic_buffer_resource>>>
      processor({0, kQueue, kStore}, kSeed, upstream);
  EXPECT_THROW(processor.run(1), std::bad_alloc);
  EXPECT_EQ(processor.counts().live, 0);
}

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
using PooledLayouts =
    testing::Types<AllocatingLayout, FlatLayout, SlabLayout<false, false, false>, SlabLayout<true, true, true>>;
TYPED_TEST_SUITE(Audit, PooledLayouts);

template <class Layout>
std::unique_ptr<Processor<Layout, PoolStrategy<Layout>>> pooled(std::int64_t pool_size) {
  const Sizes sizes{pool_size, kQueue, kStore};
  if constexpr (std::is_pointer_v<typename Layout::Handle>) {
    return std::make_unique<Processor<Layout, PoolStrategy<Layout>>>(sizes, kSeed);
  } else {
    return std::make_unique<Processor<Layout, PoolStrategy<Layout>>>(sizes, kSeed, pool_size, false);
  }
}

TYPED_TEST(Audit, findsAPacketThatIsGivenBackWhileQueued) {
  const auto processor = pooled<TypeParam>(200);
  processor->run(1'000);
  ASSERT_EQ(processor->audit(), "");
  typename PoolStrategy<TypeParam>::Run(processor->strategy()).give_back(processor->queued(3));
  EXPECT_NE(processor->audit().find("one packet is in two places: "), std::string::npos) << processor->audit();
  EXPECT_NE(processor->audit().find("FIFO slot 3"), std::string::npos) << processor->audit();
}

TYPED_TEST(Audit, findsAPacketThatIsGivenBackTwice) {
  using Run = typename PoolStrategy<TypeParam>::Run;
  const auto processor = pooled<TypeParam>(300);
  processor->run(1'000);
  const auto packet = Run(processor->strategy()).obtain();
  Run(processor->strategy()).give_back(packet);
  ASSERT_EQ(processor->audit(), "");
  Run(processor->strategy()).give_back(packet);
  EXPECT_EQ(processor->audit().find("one packet is in two places: pool slot "), 0U) << processor->audit();
}

TYPED_TEST(Audit, findsAHeaderThatWasOverwritten) {
  const auto processor = pooled<TypeParam>(200);
  processor->run(10);
  processor->layout().header(processor->queued(0))[0] = 0;
  processor->run(kQueue);
  EXPECT_EQ(processor->audit(), "1 packets reached the parser without the protocol marker");
}

std::string error_of(const ap_packets_config& config) {
  Handle handle(config);
  EXPECT_EQ(handle.packets, nullptr);
  return handle.error;
}

TEST(Errors, areOneLineThatNamesTheChoices) {
  EXPECT_EQ(error_of({"heap", "pool", 10, 10, 10, 1, nullptr}), "unknown layout 'heap': choose one of " + layout_names());
  EXPECT_EQ(error_of({"flat", "slab", 10, 10, 10, 1, nullptr}), "unknown strategy 'slab': choose one of " + strategy_names());
  EXPECT_EQ(error_of({"slab", "alloc", 10, 10, 10, 1, nullptr}),
            "layout slab has no strategy alloc: choose one of dummy,pool (a slab's memory is all there at the start: "
            "nothing is left to allocate)");
  EXPECT_NE(error_of({"allocating", "pmr_pool", 10, 10, 10, 1, nullptr}).find("choose one of dummy,alloc,mix,pool ("),
            std::string::npos);
  EXPECT_EQ(error_of({"slab", "pool", 21, 10, 10, 1, "contiguous,jump"}),
            "unknown step 'jump': choose from contiguous,one_line,stride,huge_pages,prefetch");
  EXPECT_EQ(error_of({"flat", "pool", 21, 10, 10, 1, "prefetch"}), "steps belong to layout slab, not to layout flat");
  EXPECT_EQ(error_of({"flat", "pool", 20, 10, 10, 1, nullptr}),
            "pool_size is 20: strategy pool needs at least 21 (queue_size + stored_count + 1)");
  EXPECT_EQ(error_of({"flat", "alloc", 0, 0, 10, 1, nullptr}), "queue_size is 0: it must be from 1 to 2147483647");
  EXPECT_EQ(error_of({"flat", "alloc", 0, 10, -1, 1, nullptr}), "stored_count is -1: it must be from 1 to 2147483647");
  EXPECT_EQ(error_of({"flat", "mix", std::int64_t{1} << 31, 10, 10, 1, nullptr}),
            "pool_size is 2147483648: it must be from 1 to 2147483647");
  EXPECT_NE(error_of({nullptr, "mix", 1, 1, 1, 1, nullptr}).find("layouts are allocating,flat,slab"), std::string::npos);
}

TEST(Errors, refuseMoreMemoryThanTheMachineHas) {
  const ap_packets_config huge{"flat", "mix", 2'147'483'647, 2'147'483'647, 2'147'483'647, 1, nullptr};
  EXPECT_NE(error_of(huge).find("choose smaller sizes"), std::string::npos);
}

TEST(Errors, areCutToTheCallersBuffer) {
  const ap_packets_config wrong{"heap", "pool", 10, 10, 10, 1, nullptr};
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
