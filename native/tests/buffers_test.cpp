// Allocation, access and fragmentation do the work that they report: a variant that skips it is found out.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "allocpool.h"
#include "buffers/allocation.hpp"
#include "buffers/class_slab.hpp"
#include "buffers/cost_histogram.hpp"

namespace allocpool::buffers {
namespace {

constexpr std::size_t kBytes = 1000;
constexpr std::size_t kSlots = 500;

// The mutation: allocates once and returns the same buffer ever after, which is what an optimizer would love to do.
class SkipsTheAllocation {
 public:
  static constexpr bool kAllocates = true;
  SkipsTheAllocation(std::size_t bytes, std::size_t) : buffer_(std::malloc(bytes)) {}
  ~SkipsTheAllocation() { std::free(buffer_); }
  SkipsTheAllocation(const SkipsTheAllocation&) = delete;
  SkipsTheAllocation& operator=(const SkipsTheAllocation&) = delete;
  void* obtain() { return buffer_; }
  void release(void*) {}

 private:
  void* buffer_;
};

// A subtler one: every buffer is new, but smaller than asked.
class SkimpsOnTheBytes {
 public:
  static constexpr bool kAllocates = true;
  SkimpsOnTheBytes(std::size_t bytes, std::size_t) : made_(bytes / 2, 1) {}
  void* obtain() { return made_.obtain(); }
  void release(void* buffer) { made_.release(buffer); }

 private:
  Malloc made_;
};

template <class Source>
std::string verified() {
  ap_allocation_counters counters{};
  return AllocationRounds<Source, Touch::none>(kBytes, kSlots).verify(&counters);
}

TEST(Allocation, isFoundOutWhenItIsSkipped) { EXPECT_NE(verified<SkipsTheAllocation>(), ""); }

TEST(Allocation, isFoundOutWhenItIsTooSmall) {
  ap_allocation_counters counters{};
  AllocationRounds<SkimpsOnTheBytes, Touch::none> rounds(kBytes, 1);
  EXPECT_NE(rounds.verify(&counters), "");
}

TEST(Allocation, isWhatItClaims) {
  EXPECT_EQ(verified<Malloc>(), "");
  EXPECT_EQ(verified<MallocPool>(), "");
}

class EveryKind : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(EveryKind, agreesWithTheAllocatorsCounters) {
  const auto [strategy, touch] = GetParam();
  char error[200] = "";
  ap_allocation* allocation = ap_allocation_create(strategy, touch, kBytes, kSlots, error, sizeof error);
  ASSERT_NE(allocation, nullptr) << error;
  ap_allocation_counters counters{};
  EXPECT_EQ(ap_allocation_verify(allocation, &counters, error, sizeof error), 0) << error;
  EXPECT_EQ(counters.buffers, static_cast<std::int64_t>(kSlots));
  EXPECT_GE(counters.held_bytes, static_cast<std::int64_t>(kSlots * kBytes));
  std::vector<ap_buffers_iteration> out(10);
  const std::int64_t written = ap_allocation_run(allocation, 2'000'000, 500'000, out.data(), 10);
  ASSERT_GE(written, 1);
  for (std::int64_t i = 0; i < written; ++i) {
    const ap_buffers_iteration& found = out[static_cast<std::size_t>(i)];
    EXPECT_EQ(found.count % static_cast<std::int64_t>(kSlots), 0);
    EXPECT_EQ(found.alloc_ns + found.free_ns, found.end_ns - found.start_ns);
  }
  ap_allocation_destroy(allocation);
}

INSTANTIATE_TEST_SUITE_P(Buffers, EveryKind,
                         testing::Combine(testing::Values("alloc", "pool"),
                                          testing::Values("none", "first", "page", "zero")));

TEST(Allocation, refusesInOneLine) {
  char error[200] = "";
  EXPECT_EQ(ap_allocation_create("lake", "none", 1, 1, error, sizeof error), nullptr);
  EXPECT_STREQ(error, "unknown strategy 'lake': choose one of alloc, pool");
  EXPECT_EQ(ap_allocation_create("pool", "lick", 1, 1, error, sizeof error), nullptr);
  EXPECT_STREQ(error, "unknown touch 'lick': choose one of none, first, page, zero");
  EXPECT_EQ(ap_allocation_create("pool", "none", 0, 1, error, sizeof error), nullptr);
  EXPECT_STREQ(error, "bytes 0: from 1 to 1073741824");
}

std::uint64_t checksum_after(ap_access* access, std::int64_t passes) {
  std::uint64_t checksum = 0;
  EXPECT_EQ(ap_access_get_checksum(access, passes, &checksum), AP_OK);
  return checksum;
}

class EveryOperation : public testing::TestWithParam<const char*> {};

TEST_P(EveryOperation, writesWhatItSays) {
  char error[200] = "";
  ap_access* access = ap_access_create(GetParam(), 1000, error, sizeof error);
  ASSERT_NE(access, nullptr) << error;
  ap_buffers_iteration out[4];
  EXPECT_GE(ap_access_run(access, 1'000'000, 500'000, out, 4), 1);
  const std::uint64_t nothing = checksum_after(access, 0);
  EXPECT_EQ(nothing, 0U);
  EXPECT_NE(checksum_after(access, 1), nothing);
  EXPECT_NE(checksum_after(access, 2), checksum_after(access, 1));
  EXPECT_EQ(checksum_after(access, 2), checksum_after(access, 2));
  ap_access_destroy(access);
}

INSTANTIATE_TEST_SUITE_P(Buffers, EveryOperation, testing::Values("write", "random_write", "copy"));

TEST(Access, knowsItsOperations) {
  char error[200] = "";
  EXPECT_EQ(ap_access_create("read", 1, error, sizeof error), nullptr);
  EXPECT_STREQ(error, "unknown operation 'read': choose one of write, random_write, copy");
}

struct Outcome {
  std::uint64_t checksum;
  std::vector<ap_fragment_sample> samples;
};

Outcome churned(const char* technique) {
  char error[200] = "";
  ap_fragmentation* churn = ap_fragmentation_create(technique, 20'000, std::int64_t{64} << 20, 42, error, sizeof error);
  EXPECT_NE(churn, nullptr) << error;
  const std::int32_t small[4] = {8, 100, 200, 1000};
  const std::int32_t large[2] = {5000, 200'000};
  const ap_phase phases[3] = {{small, 4, 1 << 20, 4 << 20}, {large, 2, 1 << 20, 8 << 20}, {small, 4, 1 << 18, 1 << 20}};
  std::vector<ap_fragment_sample> samples(12);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ap_fragmentation_run(churn, &phases[i], i, &samples[4U * i], 4), 4);
  EXPECT_EQ(ap_fragmentation_audit(churn, error, sizeof error), 0) << error;
  Outcome outcome{0, samples};
  EXPECT_EQ(ap_fragmentation_get_checksum(churn, &outcome.checksum), AP_OK);
  ap_fragmentation_destroy(churn);
  return outcome;
}

TEST(Fragmentation, isTheSameWorkForEveryTechnique) {
  const Outcome malloc = churned("malloc");
  const Outcome slab = churned("slab");
  EXPECT_EQ(malloc.checksum, slab.checksum);
  for (std::size_t i = 0; i < malloc.samples.size(); ++i) {
    EXPECT_EQ(malloc.samples[i].operations, slab.samples[i].operations);
    EXPECT_EQ(malloc.samples[i].live_bytes, slab.samples[i].live_bytes);
    EXPECT_EQ(malloc.samples[i].live_buffers, slab.samples[i].live_buffers);
  }
}

TEST(Fragmentation, keepsTheBytesAliveConstant) {
  for (const ap_fragment_sample& sample : churned("malloc").samples) {
    const std::int64_t most = sample.phase == 2 ? 1 << 18 : 1 << 20;
    EXPECT_LE(sample.live_bytes, most);
    EXPECT_GT(sample.live_bytes, most - 200'000);
    EXPECT_LE(sample.p50_ns, sample.p99_ns);
    EXPECT_LE(sample.p99_ns, sample.max_ns);
    EXPECT_GT(sample.empty_p50_ns, 0);
    EXPECT_LE(sample.empty_p50_ns, sample.empty_p99_ns);
    EXPECT_LE(sample.empty_p50_ns, sample.p50_ns);
  }
}

TEST(Fragmentation, refusesSizesThatASlabCannotHold) {
  char error[200] = "";
  ap_fragmentation* churn = ap_fragmentation_create("slab", 10, 1 << 20, 1, error, sizeof error);
  const std::int32_t sizes[2] = {8, (1 << 18) + 1};
  const ap_phase phase{sizes, 2, 100, 100};
  ap_fragment_sample sample;
  EXPECT_EQ(ap_fragmentation_run(churn, &phase, 0, &sample, 1), AP_INVALID_ARGUMENT);
  ap_fragmentation_destroy(churn);
}

TEST(Fragmentation, tellsWhenTheReserveIsUsedUp) {
  char error[200] = "";
  ap_fragmentation* churn = ap_fragmentation_create("slab", 100, 1 << 20, 1, error, sizeof error);
  const std::int32_t sizes[1] = {200'000};
  const ap_phase phase{sizes, 1, 8 << 20, 8 << 20};
  ap_fragment_sample sample;
  EXPECT_EQ(ap_fragmentation_run(churn, &phase, 0, &sample, 1), AP_OUT_OF_MEMORY);
  ap_fragmentation_destroy(churn);
}

TEST(ClassSlab, wastesAtMostAQuarterPerBlock) {
  for (std::size_t bytes = 65; bytes <= ClassSlab::kLargest; bytes += 1 + bytes / 50) {
    EXPECT_GE(ClassSlab::block_bytes(bytes), bytes);
    EXPECT_LE(ClassSlab::block_bytes(bytes), bytes + bytes / 4);
  }
  for (std::size_t bytes = 1; bytes <= 64; ++bytes) EXPECT_EQ(ClassSlab::block_bytes(bytes), (bytes + 15) / 16 * 16);
}

TEST(ClassSlab, givesEmptySlabsToOtherClasses) {
  ClassSlab slabs(std::size_t{2} << 20);
  std::vector<void*> blocks;
  for (int i = 0; i < 8000; ++i) blocks.push_back(slabs.obtain(128));
  EXPECT_EQ(slabs.taken_bytes(), ClassSlab::kSlabBytes);
  for (void* block : blocks) slabs.release(block);
  slabs.release(slabs.obtain(100'000));
  EXPECT_EQ(slabs.taken_bytes(), ClassSlab::kSlabBytes);
}

TEST(CostHistogram, isAThirtySecondPartExact) {
  CostHistogram costs;
  EXPECT_EQ(costs.at(990), 0);
  for (std::int64_t cost = 1; cost <= 10'000; ++cost) costs.add(cost);
  EXPECT_NEAR(static_cast<double>(costs.at(500)), 5'000, 5'000 / 32.0);
  EXPECT_NEAR(static_cast<double>(costs.at(990)), 9'900, 9'900 / 32.0);
  EXPECT_EQ(costs.at(1000), 10'000);
  EXPECT_EQ(costs.max_ns(), 10'000);
}

}  // namespace
}  // namespace allocpool::buffers
