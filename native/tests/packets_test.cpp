// Every layout and strategy does the same work, and does it by the rules of the model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocation_counter.hpp"
#include "allocpool.h"
#include "c_api.hpp"
#include "names.hpp"
#include "packets/checksum.hpp"
#include "packets/layout_allocating.hpp"
#include "packets/layout_flat.hpp"
#include "packets/layout_slab.hpp"
#include "packets/memory_new.hpp"
#include "packets/memory_pmr.hpp"
#include "packets/memory_region.hpp"
#include "packets/packet_generator.hpp"
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

ap_packets_config config(const Combination& names) {
  const std::int64_t pool_size = names.strategy == "mix" ? 50 : kQueue + kStore + 1;
  // The names of the registry are string literals.
  return {names.layout.data(), names.strategy.data(), names.memory.data(), pool_size, kQueue, kStore, kSeed, nullptr};
}

constexpr Combination kUsual{"flat", "alloc", "new"};

struct Handle {
  explicit Handle(const ap_packets_config& config) : packets(ap_packets_create(&config, error, sizeof error)) {}
  ~Handle() { ap_packets_destroy(packets); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  char error[256] = "";
  ap_packets* packets;
};

ap_packets_counts counts_of(const Handle& handle) {
  ap_packets_counts counts;
  EXPECT_EQ(ap_packets_get_counts(handle.packets, &counts), AP_OK);
  return counts;
}

std::uint64_t checksum_of(const Handle& handle) {
  std::uint64_t checksum = 0;
  EXPECT_EQ(ap_packets_get_checksum(handle.packets, &checksum), AP_OK);
  return checksum;
}

void run(const Handle& handle, std::int64_t packets) {
  ap_iteration iteration;
  ASSERT_EQ(ap_packets_run_packets(handle.packets, packets, packets, &iteration, 1), 1);
}

void expect_clean(const Handle& handle) {
  char message[256] = "";
  EXPECT_EQ(ap_packets_audit(handle.packets, message, sizeof message), AP_OK) << message;
}

class Contract : public testing::TestWithParam<Combination> {
 protected:
  const std::string_view strategy_ = GetParam().strategy;
};

TEST_P(Contract, doesTheSameWorkAsAnyOther) {
  Handle reference(config(kUsual));
  Handle handle(config(GetParam()));
  ASSERT_NE(handle.packets, nullptr) << handle.error;
  std::vector<ap_iteration> iterations(100);
  for (ap_packets* packets : {reference.packets, handle.packets}) {
    ASSERT_EQ(ap_packets_run_packets(packets, 20'050, 1'000, iterations.data(), 100), 21);
    EXPECT_EQ(iterations[20].packets, 50);
  }
  const ap_packets_counts counts = counts_of(handle);
  EXPECT_EQ(counts.received, 20'050);
  EXPECT_EQ(counts.parsed, 20'050 - kQueue);
  EXPECT_EQ(counts.allocated, counts.received);
  EXPECT_EQ(counts.allocated, counts.freed + counts.live);
  expect_clean(handle);
  if (strategy_ == "dummy") return;  // its packet holds the newest header whichever is parsed
  const ap_packets_counts expected = counts_of(reference);
  EXPECT_EQ(counts.tcp, expected.tcp);
  EXPECT_EQ(counts.evicted, expected.evicted);
  EXPECT_EQ(counts.evicted, counts.tcp - kStore);
  EXPECT_EQ(counts.live, kQueue + kStore);
  EXPECT_EQ(checksum_of(handle), checksum_of(reference));
}

TEST(Boost, isThereIfItsVersionIs) {
  const std::vector<std::string> memories = test::split(ap_packets_memories());
  const bool offered = std::find(memories.begin(), memories.end(), "boost_pool") != memories.end();
  EXPECT_EQ(offered, std::string(ap_boost_version()) != "");
}

TEST(Registry, knowsEveryNameOfItsCombinations) {
  for (const Combination& combination : combinations()) {
    for (const auto& [known, name] : {std::pair(layout_names(), combination.layout),
                                      std::pair(strategy_names(), combination.strategy),
                                      std::pair(memory_names(), combination.memory)}) {
      const std::vector<std::string> names = test::split(known);
      EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
    }
  }
}

TEST(Registry, takesTheFirstMemoryOfALayoutWhereNoneIsNamed) {
  const Sizes sizes{kQueue + kStore + 1, kQueue, kStore};
  EXPECT_EQ(make_workload("flat", "pool", "", sizes, kSeed)->region().bytes, 0);
  EXPECT_GT(make_workload("slab", "pool", "", sizes, kSeed)->region().bytes, 0);
}

TEST_P(Contract, checksumIsAQuery) {
  Handle handle(config(GetParam()));
  run(handle, 5'000);
  const std::uint64_t checksum = checksum_of(handle);
  EXPECT_EQ(checksum_of(handle), checksum);
  run(handle, 1'000);
  EXPECT_NE(checksum_of(handle), checksum);
}

TEST_P(Contract, runsContinueTheSequence) {
  Handle whole(config(GetParam()));
  Handle parts(config(GetParam()));
  run(whole, 9'000);
  ap_iteration iteration;
  for (int i = 0; i < 9; ++i) ASSERT_EQ(ap_packets_run_packets(parts.packets, 1'000, 300, &iteration, 1), 1);
  EXPECT_EQ(checksum_of(whole), checksum_of(parts));
}

TEST_P(Contract, allocatesWhatTheModelSays) {
  Handle handle(config(GetParam()));
  run(handle, 10'000);
  const ap_packets_counts before = counts_of(handle);
  const std::int64_t allocations = test::allocations();
  run(handle, 10'000);
  const std::int64_t allocated = test::allocations() - allocations;
  const ap_packets_counts after = counts_of(handle);
  const std::int64_t constructed = after.constructed - before.constructed;
  if (GetParam().memory == "new") {
    const std::int64_t per_parse = GetParam().layout == "allocating" ? 4 : 0;  // result, header, two addresses
    EXPECT_EQ(allocated, (after.parsed - before.parsed) * per_parse + constructed);
  } else if (GetParam().memory == "region") {
    EXPECT_EQ(allocated, 0);
  } else {
    EXPECT_LT(allocated, constructed / 10);  // these ask for the memory of many packets at once
  }
  if (strategy_ == "alloc") {
    EXPECT_EQ(constructed, 10'000);
    EXPECT_EQ(after.discarded, after.freed);
  } else if (strategy_ != "mix") {
    EXPECT_EQ(constructed, 0);
    EXPECT_EQ(after.discarded, 0);
  }
}

TEST_P(Contract, runsForAGivenTime) {
  Handle handle(config(GetParam()));
  std::vector<ap_iteration> iterations(2);
  const std::int64_t written = ap_packets_run_for(handle.packets, 3'000'000, 500'000, iterations.data(), 2);
  ASSERT_GE(written, 1);
  std::int64_t packets = 0;
  for (std::int64_t i = 0; i < written; ++i) packets += iterations[i].packets;
  EXPECT_EQ(packets, counts_of(handle).received);
  EXPECT_GE(iterations[written - 1].end_ns - iterations[0].start_ns, 3'000'000);
}

INSTANTIATE_TEST_SUITE_P(Packets, Contract, testing::ValuesIn(combinations()),
                         [](const auto& info) { return test::name_of(info.param); });

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
    return {"slab", "pool", "region", kQueue + kStore + 1, kQueue, kStore, kSeed, steps_.c_str()};
  }

 private:
  std::string steps_;
};

TEST_P(Steps, doTheSameWork) {
  Handle reference(config(kUsual));
  Handle handle(slab());
  ASSERT_NE(handle.packets, nullptr) << handle.error;
  run(reference, 20'050);
  run(handle, 20'050);
  EXPECT_EQ(checksum_of(handle), checksum_of(reference));
  expect_clean(handle);
}

INSTANTIATE_TEST_SUITE_P(Slab, Steps, testing::Range(0, 16));

template <class T>
class SlabBuffers : public testing::Test {};
using SlabVariants = testing::Types<SlabLayout<Region, false, false, true>, SlabLayout<Region, false, true, true>,
                                    SlabLayout<Region, true, false, true>, SlabLayout<Region, true, true, true>>;
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
    const auto slab = make_workload("slab", "pool", "", sizes, kSeed);
    const auto flat = make_workload("flat", "pool", "", sizes, kSeed);
    slab->run(2'000);
    flat->run(2'000);
    ASSERT_EQ(slab->checksum(), flat->checksum()) << queue;
    ASSERT_EQ(slab->audit(), "");
  }
}

// A monotonic resource whose upstream has nothing left.
struct Exhausted {
  template <class Object>
  struct Of : PmrMonotonic::Of<Object> {
    Of() : PmrMonotonic::Of<Object>(std::pmr::null_memory_resource()) {}
  };
};

TEST(Pmr, monotonicEndsByMemoryWithoutHarm) {
  using Layout = FlatLayout<Exhausted>;
  Processor<Layout, AllocStrategy<Layout>> processor({0, kQueue, kStore}, kSeed);
  EXPECT_THROW(processor.run(1), std::bad_alloc);
  EXPECT_EQ(processor.counts().live, 0);
}

TEST(Mix, constructsBeyondThePoolAndDiscardsWhatDoesNotFitBack) {
  const Sizes sizes{50, kQueue, kStore};
  const auto workload = make_workload("flat", "mix", "", sizes, kSeed);
  workload->run(50);
  EXPECT_EQ(workload->counts().constructed, 0);
  workload->run(50);
  EXPECT_EQ(workload->counts().constructed, 50);
  EXPECT_EQ(workload->counts().discarded, 0);
}

template <class T>
class Audit : public testing::Test {};
using PooledLayouts = testing::Types<AllocatingLayout<New>, FlatLayout<New>, SlabLayout<Region, false, false, false>,
                                     SlabLayout<Region, true, true, true>>;
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
  const auto refused = [](const char* layout, const char* strategy, const char* memory = nullptr,
                          const char* steps = nullptr) {
    return error_of({layout, strategy, memory, 21, 10, 10, 1, steps});
  };
  const auto refused_sizes = [](const char* strategy, std::int64_t pool_size, std::int64_t queue_size,
                                std::int64_t stored_count) {
    return error_of({"flat", strategy, "new", pool_size, queue_size, stored_count, 1, nullptr});
  };
  EXPECT_EQ(refused("heap", "pool"), "unknown layout 'heap': choose one of " + layout_names());
  EXPECT_EQ(refused("flat", "slab"), "unknown strategy 'slab': choose one of " + strategy_names());
  EXPECT_EQ(refused("flat", "alloc", "pool"), "unknown memory 'pool': choose one of " + memory_names());
  EXPECT_EQ(refused("slab", "alloc"),
            "layout slab with memory region has no strategy alloc: choose one of dummy,pool (its memory is all there "
            "at the start: nothing is left to allocate)");
  EXPECT_EQ(refused("allocating", "alloc", "pmr_pool"), "layout allocating has no memory pmr_pool: choose one of new");
  EXPECT_EQ(refused("slab", "pool", "new"), "layout slab has no memory new: choose one of region");
  EXPECT_EQ(refused("flat", "pool", "pmr_pool"),
            "layout flat with memory pmr_pool has no strategy pool: choose one of alloc (this memory is tried where "
            "each message asks it for a packet)");
  EXPECT_EQ(refused("slab", "pool", nullptr, "contiguous,jump"),
            "unknown step 'jump': choose from contiguous,one_line,stride,huge_pages,prefetch");
  EXPECT_EQ(refused("flat", "pool", nullptr, "prefetch"), "steps belong to layout slab, not to layout flat");
  EXPECT_EQ(refused_sizes("pool", 20, 10, 10),
            "pool_size is 20: strategy pool needs at least 21 (queue_size + stored_count + 1)");
  EXPECT_EQ(refused_sizes("alloc", 0, 0, 10), "queue_size is 0: it must be from 1 to 2147483647");
  EXPECT_EQ(refused_sizes("alloc", 0, 10, -1), "stored_count is -1: it must be from 1 to 2147483647");
  EXPECT_EQ(refused_sizes("mix", std::int64_t{1} << 31, 10, 10),
            "pool_size is 2147483648: it must be from 1 to 2147483647");
  EXPECT_NE(refused(nullptr, "mix").find("layouts are allocating,flat,slab"), std::string::npos);
}

TEST(Errors, refuseMoreMemoryThanTheMachineHas) {
  const ap_packets_config huge{"flat", "mix", "new", 2'147'483'647, 2'147'483'647, 2'147'483'647, 1, nullptr};
  EXPECT_NE(error_of(huge).find("choose smaller sizes"), std::string::npos);
}

TEST(Errors, areCutToTheCallersBuffer) {
  const ap_packets_config wrong{"heap", "pool", nullptr, 10, 10, 10, 1, nullptr};
  char error[10];
  EXPECT_EQ(ap_packets_create(&wrong, error, sizeof error), nullptr);
  EXPECT_STREQ(error, "unknown l");
  EXPECT_EQ(ap_packets_create(&wrong, nullptr, 0), nullptr);
}

TEST(Errors, runsRefuseInvalidArguments) {
  Handle handle(config({"flat", "pool", "new"}));
  ap_iteration out;
  EXPECT_EQ(ap_packets_run_packets(handle.packets, -1, 1, &out, 1), AP_INVALID_ARGUMENT);
  EXPECT_EQ(ap_packets_run_packets(handle.packets, 1, 0, &out, 1), AP_INVALID_ARGUMENT);
  EXPECT_EQ(ap_packets_run_packets(handle.packets, 1, 1, nullptr, 1), AP_INVALID_ARGUMENT);
  EXPECT_EQ(ap_packets_run_packets(handle.packets, 1, 1, &out, 0), AP_INVALID_ARGUMENT);
  EXPECT_EQ(ap_packets_run_for(handle.packets, -1, 1, &out, 1), AP_INVALID_ARGUMENT);
  EXPECT_EQ(ap_packets_run_for(handle.packets, 1, 0, &out, 1), AP_INVALID_ARGUMENT);
  EXPECT_EQ(counts_of(handle).received, 0);
}

TEST(Errors, noHandleIsAnInvalidArgument) {
  ap_iteration out;
  char message[256] = "";
  EXPECT_EQ(ap_packets_run_packets(nullptr, 1, 1, &out, 1), AP_INVALID_ARGUMENT);
  EXPECT_EQ(ap_packets_get_counts(nullptr, nullptr), AP_INVALID_ARGUMENT);
  EXPECT_EQ(ap_packets_audit(nullptr, message, sizeof message), AP_INVALID_ARGUMENT);
  EXPECT_STREQ(message, "a pointer is NULL that must not be");
  ap_packets_destroy(nullptr);
}

// What a function of the C API makes of whatever is thrown below it.
template <class Thrown>
std::pair<c_api::Code, std::string> ended_by(const Thrown& thrown) {
  char line[64] = "the line of an earlier call";
  const c_api::Code code = c_api::ended({line, sizeof line}, [&] { throw thrown; });
  return {code, line};
}

TEST(CApi, turnsWhatIsThrownIntoACodeAndALine) {
  using c_api::Code;
  using End = std::pair<Code, std::string>;
  EXPECT_EQ(ended_by(UserError("choose A")), End(Code::invalid_argument, "choose A"));
  EXPECT_EQ(ended_by(std::bad_alloc()), End(Code::out_of_memory, "out of memory: choose smaller sizes"));
  EXPECT_EQ(ended_by(std::runtime_error("broken")), End(Code::failed, "broken"));
  EXPECT_EQ(ended_by(42).first, Code::failed);
  char line[64] = "the line of an earlier call";
  EXPECT_EQ(c_api::ended({line, sizeof line}, [] {}), Code::ok);
  EXPECT_STREQ(line, "");
}

TEST(CApi, anAuditThatCannotRunIsNoFault) {
  char line[64] = "";
  EXPECT_EQ(c_api::audited<ap_status>({line, sizeof line}, [] { return std::string("one too many"); }), AP_FAULT);
  EXPECT_STREQ(line, "one too many");
  EXPECT_EQ(c_api::audited<ap_status>({line, sizeof line}, []() -> std::string { throw std::bad_alloc(); }),
            AP_OUT_OF_MEMORY);
  EXPECT_EQ(c_api::audited<ap_status>({line, sizeof line}, [] { return std::string(); }), AP_OK);
}

}  // namespace
}  // namespace allocpool
