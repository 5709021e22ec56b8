// The known answers that the Java workload must give too: same seed and sizes, same counts and checksum.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "names.hpp"
#include "packets/registry.hpp"

namespace allocpool {
namespace {

constexpr const char* kHeading =
    "seed,queue_size,stored_count,packets,received,parsed,tcp,evicted,freed,live,checksum_hex";

struct Vector {
  std::int64_t seed, queue_size, stored_count, packets, received, parsed, tcp, evicted, freed, live;
  std::uint64_t checksum;
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
        std::hex >> v.checksum;
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
      const auto workload =
          make_workload(names.layout, names.strategy, names.memory, sizes, static_cast<std::uint64_t>(v.seed));
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
    }
  }
}

}  // namespace
}  // namespace allocpool
