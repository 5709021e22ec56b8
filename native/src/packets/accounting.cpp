#include <string>

#include "packets/workload.hpp"

namespace allocpool {

std::string fault_of(const Counters& counters, bool shared) {
  if (counters.malformed != 0) {
    return std::to_string(counters.malformed) + " packets reached the parser without the protocol marker";
  }
  std::string fault;
  const auto require = [&fault](const char* what, std::int64_t counted, std::int64_t expected) {
    if (fault.empty() && counted != expected) {
      fault = std::string(what) + ": " + std::to_string(counted) + ", expected " + std::to_string(expected);
    }
  };
  const ap_packets_counts& count = counters.counts;
  require("packets received and not parsed", count.received - count.parsed, counters.queued);
  require("packets stored and not evicted", count.tcp - count.evicted, counters.stored);
  require("packets freed", count.freed, count.parsed - count.tcp + count.evicted);
  require("packets allocated", count.allocated, count.freed + count.live);
  if (shared) return fault;
  require("packets in queue, store and pool", counters.pooled + count.live,
          counters.prepared + count.constructed - count.discarded);
  require("packets in the queue that are parsed already", counters.queued_parsed, 0);
  require("packets in the store with their parse result", counters.stored_parsed, counters.stored);
  return fault;
}

}  // namespace allocpool
