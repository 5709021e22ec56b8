// Every layout and strategy does the same work, and does it by the rules of the model.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <memory_resource>
#include <sstream>
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
#include "packets/steps.hpp"
#include "packets/strategy_pool.hpp"

namespace allocpool {
namespace {

constexpr std::int64_t kQueue = 100;
constexpr std::int64_t kStore = 60;
constexpr std::uint64_t kSeed = 42;

ap_packets_config config(const Combination& names) {
  const std::int64_t pool_size = names.strategy == "mix" ? 50 : kQueue + kStore + 1;
  // The names of the registry are string literals.
  return {names.layout.data(), names.strategy.data(), names.memory.data(), pool_size, kQueue, kStore, kSeed, nullptr,
          1, 0, 0};
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
  EXPECT_EQ(make_workload("flat", "pool", "", {sizes, kSeed})->region().bytes, 0);
  EXPECT_GT(make_workload("slab", "pool", "", {sizes, kSeed})->region().bytes, 0);
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

// What the pages state of a layout's `packet` or `parse`: calls of `new`, and bytes.
std::array<std::int64_t, 2> stated(const std::string& layout, const std::string& part) {
  std::ifstream table(ALLOCPOOL_OBJECTS_TABLE);
  for (std::string line; std::getline(table, line);) {
    std::istringstream row(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    if (cells.at(0) == "cpp" && cells.at(1) == layout && cells.at(2) == part) {
      return {std::stoll(cells.at(5)), std::stoll(cells.at(6))};
    }
  }
  ADD_FAILURE() << ALLOCPOOL_OBJECTS_TABLE << " has no row of " << layout << ' ' << part;
  return {};
}

TEST_P(Contract, allocatesWhatTheModelSays) {
  Handle handle(config(GetParam()));
  run(handle, 10'000);
  const ap_packets_counts before = counts_of(handle);
  const std::int64_t allocations = test::allocations();
  const std::int64_t bytes = test::allocated_bytes();
  run(handle, 10'000);
  const std::int64_t allocated = test::allocations() - allocations;
  const std::int64_t allocated_bytes = test::allocated_bytes() - bytes;
  const ap_packets_counts after = counts_of(handle);
  const std::int64_t constructed = after.constructed - before.constructed;
  if (GetParam().memory == "new") {
    const std::string layout(GetParam().layout);
    const auto per_packet = stated(layout, "packet");
    const auto per_parse = stated(layout, "parse");
    const std::int64_t parsed = after.parsed - before.parsed;
    EXPECT_EQ(allocated, parsed * per_parse[0] + constructed * per_packet[0]);
    EXPECT_EQ(allocated_bytes, parsed * per_parse[1] + constructed * per_packet[1]);
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

// Every combination of the steps of each layout, also those that are no rung of the ladder.
class EverySteps : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(EverySteps, doTheSameWork) {
  const auto [layout, steps] = GetParam();
  for (const bool payload : {false, true}) {
    for (const char* strategy : {"alloc", "pool"}) {
      const bool slab = std::string(layout) == "slab";
      if (slab && std::string(strategy) != "pool") continue;
      ap_packets_config asked = config({layout, strategy, slab ? "region" : "new"});
      asked.steps = steps;
      asked.payload_touch = payload ? 1 : 0;
      ap_packets_config usual = config(kUsual);
      usual.payload_touch = asked.payload_touch;
      Handle reference(usual), handle(asked);
      ASSERT_NE(handle.packets, nullptr) << handle.error;
      run(reference, 5'050);
      run(handle, 5'050);
      EXPECT_EQ(checksum_of(handle), checksum_of(reference)) << strategy << (payload ? " with payload" : "");
      expect_clean(handle);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Packets, EverySteps,
    testing::ValuesIn(std::vector<std::pair<const char*, const char*>>{
        {"allocating", ""},
        {"allocating", "inline"},
        {"flat", ""},
        {"flat", "inline"},
        {"flat", "inline,prefetch"},
        {"flat", "inline,one_line"},
        {"flat", "inline,one_line,prefetch"},
        {"flat", "inline,one_line,stride"},
        {"flat", "inline,one_line,stride,prefetch"},
        {"slab", "contiguous"},
        {"slab", "one_line"},
        {"slab", "stride"},
        {"slab", "huge_pages"},
        {"slab", "prefetch"},
        {"slab", "one_line,stride"},
        {"slab", "one_line,prefetch"},
        {"slab", "stride,prefetch"},
        {"slab", "contiguous,one_line,stride,huge_pages,prefetch"},
    }),
    [](const auto& info) {
      std::string name = std::string(info.param.first) + "_" + info.param.second;
      std::replace(name.begin(), name.end(), ',', '_');
      return name;
    });

TEST(Payload, isFoldedIntoTheChecksum) {
  Handle without(config(kUsual));
  ap_packets_config touched = config(kUsual);
  touched.payload_touch = 1;
  Handle with(touched);
  for (const Handle* handle : {&without, &with}) run(*handle, 1'000);
  EXPECT_NE(checksum_of(with), checksum_of(without));
  EXPECT_EQ(counts_of(with).tcp, counts_of(without).tcp);
}

TEST(Payload, isReadFromThePacket) {
  using Layout = FlatLayout<New, true, false, false, false>;
  std::vector<std::uint64_t> checksums;
  for (const std::size_t damaged : {std::size_t{0}, std::size_t{49}, std::size_t{127}}) {
    const Settings settings{{kQueue + kStore + 1, kQueue, kStore}, kSeed, nullptr, true, false, true};
    Processor<Layout, PoolStrategy<Layout>> processor(settings, {settings.sizes.pool_size, settings.sizes.pool_size,
                                                                 true, kSeed});
    processor.run(10);
    Layout::payload(processor.queued(0))[damaged] ^= 1U;
    processor.run(kQueue);
    checksums.push_back(processor.checksum());
  }
  const Settings settings{{kQueue + kStore + 1, kQueue, kStore}, kSeed, nullptr, true, false, true};
  const auto whole = make_workload("flat", "pool", "", settings);
  whole->run(10 + kQueue);
  EXPECT_NE(checksums[0], whole->checksum());
  EXPECT_NE(checksums[1], whole->checksum());
  EXPECT_EQ(checksums[2], whole->checksum()) << "beyond the longest payload";
}

// The addresses of what a pool hands out, in that order, as places in the order in which they were made.
std::vector<std::size_t> handed_out(bool aged, std::uint64_t seed, std::int64_t count) {
  using Layout = SlabLayout<Region, true, true, true>;
  Layout layout(count, false);
  PoolStrategy<Layout> pool(layout, {count, count, aged, seed});
  std::vector<std::size_t> order;
  PoolStrategy<Layout>::Run run(pool);
  for (std::int64_t i = 0; i < count; ++i) order.push_back(run.obtain());
  return order;
}

TEST(Age, isAnOrderThatTheSeedDecides) {
  std::vector<std::size_t> fresh = handed_out(false, 1, 1'000), aged = handed_out(true, 1, 1'000);
  EXPECT_TRUE(std::is_sorted(fresh.rbegin(), fresh.rend()));
  EXPECT_EQ(aged, handed_out(true, 1, 1'000));
  EXPECT_NE(aged, handed_out(true, 2, 1'000));
  std::int64_t neighbours = 0;
  for (std::size_t i = 1; i < aged.size(); ++i) neighbours += aged[i] + 1 == aged[i - 1] || aged[i] == aged[i - 1] + 1;
  EXPECT_LT(neighbours, 10);
  std::sort(aged.begin(), aged.end());
  std::sort(fresh.begin(), fresh.end());
  EXPECT_EQ(aged, fresh);
}

TEST(Ring, sweepsItsWholePoolInTheOrderInWhichPacketsComeBack) {
  using Layout = SlabLayout<Region, true, true, true>;
  Layout layout(5, false);
  PoolStrategy<Layout, true> pool(layout, {5, 5, false, kSeed});
  std::vector<std::size_t> order;
  {
    PoolStrategy<Layout, true>::Run run(pool);
    const auto first = run.obtain(), second = run.obtain();
    run.give_back(second);
    run.give_back(first);
    for (int i = 0; i < 10; ++i) {
      const auto packet = run.obtain();
      order.push_back(packet);
      run.give_back(packet);
    }
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{2, 3, 4, 1, 0, 2, 3, 4, 1, 0}));
  std::size_t pooled = 0;
  pool.each_pooled([&](Layout::Handle) { ++pooled; });
  EXPECT_EQ(pooled, 5U);
}

TEST(Ring, doesTheSameWorkAsAStackAndIsRefusedWithoutAPool) {
  for (const Combination& names : combinations()) {
    const bool pooled = names.strategy == "pool" || names.strategy == "mix";
    for (const int aged : {0, 1}) {
      ap_packets_config ring_config = config(names), stack_config = config(names);
      ring_config.fifo = 1;
      ring_config.aged = stack_config.aged = aged;
      Handle ring(ring_config), stack(stack_config);
      ASSERT_EQ(ring.packets != nullptr, pooled) << test::name_of(names);
      if (!pooled) continue;
      for (const Handle* handle : {&ring, &stack}) run(*handle, 5'000);
      EXPECT_EQ(checksum_of(ring), checksum_of(stack)) << test::name_of(names);
      EXPECT_EQ(counts_of(ring).freed, counts_of(stack).freed);
      EXPECT_EQ(counts_of(ring).constructed, counts_of(stack).constructed);
      expect_clean(ring);
    }
  }
}

double disorder_of(std::string_view layout, std::string_view strategy, int aged, std::int64_t packets) {
  ap_packets_config asked = config({layout, strategy, layout == "slab" ? "region" : "new"});
  asked.pool_size = 3'000;
  asked.queue_size = 1'000;
  asked.aged = aged;
  if (layout == "slab") asked.steps = "contiguous";
  Handle handle(asked);
  run(handle, packets);
  double bytes = 0.0;
  EXPECT_EQ(ap_packets_get_disorder(handle.packets, &bytes), AP_OK);
  return bytes;
}

TEST(Disorder, isTheDistanceOfPacketsThatFollowEachOther) {
  EXPECT_EQ(disorder_of("slab", "pool", 0, 1'000), 1024.0);
  EXPECT_NEAR(disorder_of("slab", "pool", 1, 1'000), 1'000 * 1024.0, 100 * 1024.0) << "a third of the pool";
  EXPECT_GE(disorder_of("flat", "pool", 1, 1'000), 10 * 1024.0) << "of objects, whose buffers may lie elsewhere";
  EXPECT_EQ(disorder_of("flat", "dummy", 0, 1'000), 0.0);
  EXPECT_EQ(disorder_of("slab", "pool", 0, 1), -1.0);
}

TEST(Age, changesNothingThatIsDone) {
  for (const Combination& names : combinations()) {
    if (names.strategy == "dummy") continue;
    ap_packets_config fresh_config = config(names);
    fresh_config.aged = 0;
    Handle aged(config(names)), fresh(fresh_config);
    for (const Handle* handle : {&aged, &fresh}) run(*handle, 5'000);
    EXPECT_EQ(checksum_of(aged), checksum_of(fresh)) << test::name_of(names);
    expect_clean(fresh);
  }
}

// The heap's order is seen by packets that are out, none of which has been freed: whatever the allocator does with what is.
TEST(Age, ofTheHeapIsThatOfThePacketsWhichAreOutFirst) {
  using Layout = FlatLayout<New, true, false, false, false>;
  const Settings settings{{0, 1'000, 1}, kSeed, nullptr, true, false, false};
  for (const bool aged : {false, true}) {
    Processor<Layout, PoolStrategy<Layout>> processor(settings, {0, aged ? 1'002 : 0, aged, kSeed});
    processor.run(1'000);
    EXPECT_EQ(processor.counts().constructed, aged ? 0 : 1'000);
    std::int64_t near = 0;
    for (std::size_t i = 1; i < 1'000; ++i) {
      const auto here = reinterpret_cast<std::uintptr_t>(processor.queued(i));
      const auto before = reinterpret_cast<std::uintptr_t>(processor.queued(i - 1));
      near += std::max(here, before) - std::min(here, before) < 4'096;
    }
    if (aged) {
      EXPECT_LT(near, 100);
    } else {
      EXPECT_GT(near, 500);
    }
    EXPECT_EQ(processor.audit(), "");
  }
}

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

TEST(Steps, areTheLayoutsOwnUnlessSomeAreNamed) {
  const Steps slab = parse_steps("slab", Slab::kLadder, nullptr);
  EXPECT_TRUE(slab.one_line && slab.stride && slab.huge_pages && slab.prefetch && !slab.inline_buffer);
  EXPECT_EQ(parse_steps("flat", Flat::kLadder, nullptr), Steps());
  const Steps one = parse_steps("slab", Slab::kLadder, "contiguous,stride");
  EXPECT_TRUE(one.stride && !one.one_line && !one.huge_pages && !one.prefetch);
}

// Most cache lines that header and parse result of one packet lie in.
template <class Layout>
std::size_t lines_of_one_packet() {
  Layout layout;
  std::size_t most = 0;
  std::vector<typename Layout::Handle> packets;
  for (int i = 0; i < 64; ++i) {
    packets.push_back(layout.construct());
    const auto first = reinterpret_cast<std::uintptr_t>(packets.back()) / kLineBytes;
    const auto last = reinterpret_cast<std::uintptr_t>(layout.header(packets.back()) + 16) / kLineBytes;
    most = std::max(most, static_cast<std::size_t>(last - first + 1));
  }
  for (const auto packet : packets) layout.destroy(packet);
  return most;
}

TEST(Steps, oneLineIsOneLine) {
  EXPECT_EQ((lines_of_one_packet<FlatLayout<New, true, true, false, false>>()), 1U);
  EXPECT_EQ((lines_of_one_packet<FlatLayout<New, true, true, true, false>>()), 1U);
}

TEST(Steps, separateIsAnAllocationOfItsOwn) {
  FlatLayout<New, false, false, false, false> apart;
  FlatLayout<New, true, false, false, false> together;
  const std::int64_t before = test::allocations();
  const auto packet = apart.construct();
  EXPECT_EQ(test::allocations() - before, 2);
  const auto one = together.construct();
  EXPECT_EQ(test::allocations() - before, 3);
  apart.destroy(packet);
  together.destroy(one);
}

TEST(Prefetch, worksWithAQueueShorterThanThePrefetchDistance) {
  for (std::int64_t queue = 1; queue < 70; ++queue) {
    const Sizes sizes{queue + 3, queue, 2};
    const auto flat = make_workload("flat", "pool", "", {sizes, kSeed});
    flat->run(2'000);
    const auto ahead = make_workload("flat", "pool", "", {sizes, kSeed, "inline,prefetch", true});
    const auto slab = make_workload("slab", "pool", "", {sizes, kSeed, nullptr, true});
    for (Workload* const fetching : {ahead.get(), slab.get()}) {
      fetching->run(2'000);
      ASSERT_EQ(fetching->checksum(), flat->checksum()) << queue;
      ASSERT_EQ(fetching->audit(), "");
    }
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
  using Layout = FlatLayout<Exhausted, true, false, false, false>;
  Processor<Layout, PoolStrategy<Layout>> processor({{0, kQueue, kStore}, kSeed}, {0, 0, false, kSeed});
  EXPECT_THROW(processor.run(1), std::bad_alloc);
  const ap_packets_counts counts = processor.counts();
  EXPECT_EQ(counts.live, 0);
  // Received is what came in, allocated what there was memory for.
  EXPECT_EQ(counts.received, 1);
  EXPECT_EQ(counts.allocated, 0);
  EXPECT_EQ(counts.constructed, 0);
}

TEST(Mix, constructsBeyondThePoolAndDiscardsWhatDoesNotFitBack) {
  const Sizes sizes{50, kQueue, kStore};
  const auto workload = make_workload("flat", "mix", "", {sizes, kSeed});
  workload->run(50);
  EXPECT_EQ(workload->counts().constructed, 0);
  workload->run(50);
  EXPECT_EQ(workload->counts().constructed, 50);
  EXPECT_EQ(workload->counts().discarded, 0);
}

template <class T>
class Audit : public testing::Test {};
using PooledLayouts =
    testing::Types<AllocatingLayout<New, false>, FlatLayout<New, false, false, false, false>,
                   FlatLayout<New, true, true, true, true>, SlabLayout<Region, false, false, false>,
                   SlabLayout<Region, true, true, true>>;
TYPED_TEST_SUITE(Audit, PooledLayouts);

template <class Layout, class Strategy = PoolStrategy<Layout>>
std::unique_ptr<Processor<Layout, Strategy>> pooled(std::int64_t pool_size) {
  const Settings settings{{pool_size, kQueue, kStore}, kSeed};
  const Stock stock{pool_size, pool_size, false, kSeed};
  if constexpr (std::is_pointer_v<typename Layout::Handle>) {
    return std::make_unique<Processor<Layout, Strategy>>(settings, stock);
  } else {
    return std::make_unique<Processor<Layout, Strategy>>(settings, stock, pool_size, false);
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

// What each finding of the audit is for: a fault that it alone finds.
template <class T>
class Mutant : public testing::Test {};
using MutantLayouts = testing::Types<FlatLayout<New, true, true, true, true>, SlabLayout<Region, true, true, true>>;
TYPED_TEST_SUITE(Mutant, MutantLayouts);

// Forgets a packet that it should take back.
template <class Layout>
struct Forgetful : PoolStrategy<Layout> {
  using PoolStrategy<Layout>::PoolStrategy;
  struct Run : PoolStrategy<Layout>::Run {
    using PoolStrategy<Layout>::Run::Run;
    void give_back(typename Layout::Handle packet) {
      if (lost == Layout::kNone) {
        lost = packet;
      } else {
        PoolStrategy<Layout>::Run::give_back(packet);
      }
    }
    typename Layout::Handle lost = Layout::kNone;
    ~Run() { forgotten = lost; }
    static inline typename Layout::Handle forgotten = Layout::kNone;
  };
};

TYPED_TEST(Mutant, losesAPacket) {
  using Strategy = Forgetful<TypeParam>;
  const auto processor = pooled<TypeParam, Strategy>(200);
  processor->run(1'000);
  EXPECT_EQ(processor->audit(), "packets in queue, store and pool: 199, expected 200");
  typename PoolStrategy<TypeParam>::Run(processor->strategy()).give_back(Strategy::Run::forgotten);
  EXPECT_EQ(processor->audit(), "");
}

// Keeps the parse result of a packet that is given back.
template <class Layout>
struct Keeping : Layout {
  using Layout::Layout;
  void release(typename Layout::Handle) {}
};

TYPED_TEST(Mutant, keepsAParseResult) {
  const auto processor = pooled<Keeping<TypeParam>>(kQueue + kStore + 1);
  processor->run(kQueue);
  ASSERT_EQ(processor->audit(), "");
  processor->run(1'000);
  EXPECT_EQ(processor->audit().find("packets in the queue that are parsed already: "), 0U) << processor->audit();
}

TYPED_TEST(Audit, findsAParseResultThatIsMissingInTheStore) {
  const auto processor = pooled<TypeParam>(200);
  processor->run(1'000);
  ASSERT_GT(processor->counts().tcp, 0);
  processor->layout().release(processor->stored(0));
  EXPECT_EQ(processor->audit().find("packets in the store with their parse result: "), 0U) << processor->audit();
}

// Parsing runs out of memory once.
template <class Layout>
struct ParsesAllButOne : Layout {
  using Layout::Layout;
  Fields parse(typename Layout::Handle packet) {
    if (++parsed == 5) throw std::bad_alloc();
    return Layout::parse(packet);
  }
  int parsed = 0;
};

TYPED_TEST(Mutant, parsesAllButOne) {
  const auto processor = pooled<ParsesAllButOne<TypeParam>>(200);
  EXPECT_THROW(processor->run(1'000), std::bad_alloc);
  const ap_packets_counts counts = processor->counts();
  EXPECT_EQ(counts.received, kQueue + 5);
  EXPECT_EQ(counts.parsed, 4);
  EXPECT_EQ(counts.allocated, counts.freed + counts.live) << "what could not be parsed is given back";
  EXPECT_EQ(processor->audit().find("packets received and not parsed: "), 0U) << processor->audit();
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
    return error_of({layout, strategy, memory, 21, 10, 10, 1, steps, 1, 0, 0});
  };
  const auto refused_sizes = [](const char* strategy, std::int64_t pool_size, std::int64_t queue_size,
                                std::int64_t stored_count) {
    return error_of({"flat", strategy, "new", pool_size, queue_size, stored_count, 1, nullptr, 1, 0, 0});
  };
  EXPECT_EQ(refused("heap", "pool"), "unknown layout 'heap': choose one of " + layout_names());
  EXPECT_EQ(refused("flat", "slab"), "unknown strategy 'slab': choose one of " + strategy_names());
  EXPECT_EQ(refused("flat", "alloc", "pool"), "unknown memory 'pool': choose one of " + memory_names());
  EXPECT_EQ(refused("slab", "alloc"),
            "layout slab with memory region has no strategy alloc: choose one of dummy,pool");
  EXPECT_EQ(refused("allocating", "alloc", "pmr_pool"), "layout allocating has no memory pmr_pool: choose one of new");
  EXPECT_EQ(refused("slab", "pool", "new"), "layout slab has no memory new: choose one of region");
  EXPECT_EQ(refused("flat", "pool", "pmr_pool"),
            "layout flat with memory pmr_pool has no strategy pool: choose one of alloc");
  EXPECT_EQ(refused("slab", "pool", nullptr, "contiguous,jump"),
            "unknown step of layout slab 'jump': choose from contiguous,one_line,stride,huge_pages,prefetch");
  EXPECT_EQ(refused("allocating", "pool", nullptr, "prefetch"),
            "unknown step of layout allocating 'prefetch': choose from inline");
  EXPECT_EQ(refused("flat", "pool", nullptr, "prefetch"), "step prefetch of layout flat rests on inline: add inline");
  EXPECT_EQ(refused("flat", "alloc", "pmr_pool", "inline,prefetch"),
            "memory pmr_pool does not align packets: choose steps inline, or none");
  EXPECT_EQ(refused("flat", "dummy", nullptr, "inline"),
            "strategy dummy has one packet, always in the nearest cache: leave steps out");
  EXPECT_EQ(refused_sizes("pool", 20, 10, 10),
            "pool_size is 20: strategy pool needs at least 21 (queue_size + stored_count + 1)");
  EXPECT_EQ(refused_sizes("alloc", 0, 0, 10), "queue_size is 0: it must be from 1 to 2147483647");
  EXPECT_EQ(refused_sizes("alloc", 0, 10, -1), "stored_count is -1: it must be from 1 to 2147483647");
  EXPECT_EQ(refused_sizes("mix", std::int64_t{1} << 31, 10, 10),
            "pool_size is 2147483648: it must be from 1 to 2147483647");
  EXPECT_NE(refused(nullptr, "mix").find("layouts are allocating,flat,slab"), std::string::npos);
}

TEST(Errors, refuseMoreMemoryThanTheMachineHas) {
  const ap_packets_config huge{"flat", "mix", "new", 2'147'483'647, 2'147'483'647, 2'147'483'647, 1, nullptr,
                               1, 0, 0};
  EXPECT_NE(error_of(huge).find("choose smaller sizes"), std::string::npos);
}

TEST(Errors, areCutToTheCallersBuffer) {
  const ap_packets_config wrong{"heap", "pool", nullptr, 10, 10, 10, 1, nullptr, 1, 0, 0};
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
