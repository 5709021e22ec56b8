// The known answers that the Java workload must give too: same seed and sizes, same counts and checksum.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "names.hpp"
#include "packets/ageing.hpp"
#include "packets/checksum.hpp"
#include "packets/registry.hpp"

namespace allocpool {
namespace {

constexpr const char* kHeading =
    "seed,queue_size,stored_count,packets,received,parsed,tcp,evicted,freed,live,checksum_hex,payload_checksum_hex";

struct Vector {
  std::int64_t seed, queue_size, stored_count, packets, received, parsed, tcp, evicted, freed, live;
  std::uint64_t checksum, payload_checksum;
};

std::vector<Vector> read_vectors() {
  std::ifstream file(ALLOCPOOL_VECTORS "/packets-vectors.csv");
  std::string line;
  EXPECT_TRUE(std::getline(file, line)) << "no packets-vectors.csv in " ALLOCPOOL_VECTORS;
  EXPECT_EQ(line, kHeading);
  std::vector<Vector> vectors;
  while (std::getline(file, line)) {
    std::istringstream row(line);
    Vector v{};
    char comma;
    row >> v.seed >> comma >> v.queue_size >> comma >> v.stored_count >> comma >> v.packets >> comma >> v.received >>
        comma >> v.parsed >> comma >> v.tcp >> comma >> v.evicted >> comma >> v.freed >> comma >> v.live >> comma >>
        std::hex >> v.checksum >> comma >> v.payload_checksum;
    EXPECT_FALSE(row.fail()) << line;
    vectors.push_back(v);
  }
  return vectors;
}

TEST(Vectors, everyCombinationGivesTheKnownAnswers) {
  const std::vector<Vector> vectors = read_vectors();
  ASSERT_GE(vectors.size(), 10U);
  for (const Vector& v : vectors) {
    for (const Combination& names : combinations()) {
      if (names.strategy == "dummy") continue;  // its one packet is every packet: it has an answer of its own
      SCOPED_TRACE(test::name_of(names) + " seed " + std::to_string(v.seed) + " queue " +
                   std::to_string(v.queue_size) + " packets " + std::to_string(v.packets));
      const std::int64_t live = v.queue_size + v.stored_count + 1;
      const Sizes sizes{names.strategy == "pool" ? live : live / 2, v.queue_size, v.stored_count};
      Settings settings{sizes, static_cast<std::uint64_t>(v.seed), nullptr, true};
      const auto workload = make_workload(names.layout, names.strategy, names.memory, settings);
      workload->run(v.packets);
      const ap_packets_counts counts = workload->counts();
      EXPECT_EQ(counts.received, v.received);
      EXPECT_EQ(counts.parsed, v.parsed);
      EXPECT_EQ(counts.tcp, v.tcp);
      EXPECT_EQ(counts.evicted, v.evicted);
      EXPECT_EQ(counts.freed, v.freed);
      EXPECT_EQ(counts.live, v.live);
      EXPECT_EQ(workload->checksum(), v.checksum);
      EXPECT_EQ(workload->audit(), "");
      if (names.strategy != "pool") continue;  // where a packet comes from does not matter to its payload
      settings.payload_touch = true;
      const auto touching = make_workload(names.layout, names.strategy, names.memory, settings);
      touching->run(v.packets);
      EXPECT_EQ(touching->checksum(), v.payload_checksum);
    }
  }
}

TEST(Vectors, ageIsTheSameOrderInEveryLanguage) {
  std::ifstream file(ALLOCPOOL_VECTORS "/ageing-vectors.csv");
  std::string line;
  ASSERT_TRUE(std::getline(file, line)) << "no ageing-vectors.csv in " ALLOCPOOL_VECTORS;
  ASSERT_EQ(line, "seed,count,first,checksum_hex");
  int orders = 0;
  for (; std::getline(file, line); ++orders) {
    SCOPED_TRACE(line);
    std::istringstream row(line);
    std::string seed, count, first, checksum;
    for (std::string* field : {&seed, &count, &first, &checksum}) std::getline(row, *field, ',');
    std::vector<std::uint64_t> things(std::stoul(count));
    std::iota(things.begin(), things.end(), std::uint64_t{0});
    age(things.data(), things.size(), static_cast<std::uint64_t>(std::stoll(seed)));
    std::istringstream shown(first);
    std::uint64_t thing = 0;
    for (std::size_t i = 0; shown >> thing; ++i) EXPECT_EQ(things[i], thing) << i;
    std::uint64_t folded = 0;
    for (std::size_t i = 0; i < things.size(); ++i) folded = fold(folded, things[i], i);
    EXPECT_EQ(folded, std::stoull(checksum, nullptr, 16));
  }
  EXPECT_GE(orders, 5);
}

}  // namespace
}  // namespace allocpool
