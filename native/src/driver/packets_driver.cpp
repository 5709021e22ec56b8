// A process that does nothing but receive a number of packets, for tools that count over a whole process: two runs of
// different length differ by what the additional packets cost, because the start is the same.
//
//   packets_driver LAYOUT STRATEGY MEMORY STEPS POOL_SIZE QUEUE_SIZE STORED_COUNT SEED AGED FIFO PAYLOAD_TOUCH PACKETS
//
// MEMORY: - for what the layout takes first. STEPS: - for the layout's own. AGED, FIFO, PAYLOAD_TOUCH: 0 or 1.
//
// Prints the checksum. Ends with 2 and one line when the arguments are refused.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "allocpool.h"

namespace {

constexpr int kArguments = 12;
constexpr int kRefused = 2;

int refuse(const char* line) {
  std::fprintf(stderr, "packets_driver: %s\n", line);
  return kRefused;
}

bool number(const char* text, std::int64_t& value) {
  char* end = nullptr;
  value = std::strtoll(text, &end, 10);
  return end != text && *end == '\0';
}

const char* named(const char* text) { return std::strcmp(text, "-") == 0 ? nullptr : text; }

}  // namespace

int main(int argc, char** argv) {
  std::int64_t pool = 0, queue = 0, stored = 0, seed = 0, aged = 0, fifo = 0, payload = 0, packets = 0;
  if (argc != kArguments + 1 || !number(argv[5], pool) || !number(argv[6], queue) || !number(argv[7], stored) ||
      !number(argv[8], seed) || !number(argv[9], aged) || !number(argv[10], fifo) || !number(argv[11], payload) ||
      !number(argv[12], packets) || packets < 1) {
    return refuse(
        "give LAYOUT STRATEGY MEMORY STEPS POOL_SIZE QUEUE_SIZE STORED_COUNT SEED AGED FIFO PAYLOAD_TOUCH PACKETS");
  }
  const ap_packets_config config{argv[1],         argv[2],      named(argv[3]), pool,
                                 queue,           stored,       static_cast<std::uint64_t>(seed),
                                 named(argv[4]),  aged != 0,    fifo != 0,     payload != 0};
  char error[512] = "";
  ap_packets* const work = ap_packets_create(&config, error, sizeof error);
  if (work == nullptr) return refuse(error);
  ap_iteration iteration;
  if (ap_packets_run_packets(work, packets, packets, &iteration, 1) != 1) return refuse("out of memory");
  std::uint64_t checksum = 0;
  if (ap_packets_get_checksum(work, &checksum) != AP_OK) return refuse("no checksum");
  std::printf("%016" PRIx64 "\n", checksum);
  std::fflush(stdout);
  // Taking everything apart is no part of what is counted.
  std::_Exit(0);
}
