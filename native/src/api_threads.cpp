// The C face of the packets workload on many threads.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "allocpool.h"
#include "c_api.hpp"
#include "handles.hpp"
#include "os/clock.hpp"
#include "threads/workload.hpp"

namespace c_api = allocpool::c_api;
namespace threads = allocpool::threads;

struct ap_threads {
  std::unique_ptr<threads::Workload> workload;
};

const char* ap_threads_strategies() {
  return c_api::made({}, [] { return threads::strategy_names().c_str(); });
}

ap_threads* ap_threads_create(const ap_threads_config* config, char* error, size_t error_bytes) {
  return c_api::made({error, error_bytes}, [&] {
    const ap_threads_config& asked = c_api::at(config);
    const threads::Sizes sizes{asked.threads, asked.pool_size, asked.queue_size, asked.stored_count, asked.seed,
                               asked.padded != 0};
    auto made = std::make_unique<ap_threads>();
    made->workload = threads::make_workload(&c_api::at(asked.topology), &c_api::at(asked.layout),
                                            &c_api::at(asked.strategy), sizes);
    return made.release();
  });
}

ap_status ap_threads_run(ap_threads* handle, int64_t packets, ap_iteration* part) {
  return c_api::status<ap_status>({}, [&] {
    c_api::require(packets >= 1, "a length is out of bounds");
    ap_iteration& out = c_api::at(part);
    threads::Workload& workload = *c_api::at(handle).workload;
    out.start_ns = allocpool::os::monotonic_ns();
    workload.run(packets);
    out.end_ns = allocpool::os::monotonic_ns();
    out.packets = packets;
  });
}

ap_status ap_threads_consume(ap_threads* handle, ap_realtime* realtime, int64_t yields, ap_consumption* out,
                             int64_t rings, char* error, size_t error_bytes) {
  return c_api::status<ap_status>({error, error_bytes}, [&] {
    allocpool::realtime::Session& session = c_api::at(realtime).session;
    c_api::require(session.rings() == rings, "rings is not the number of rings of the source");
    session.begin_consuming();
    const std::vector<ap_consumption> seen = c_api::at(handle).workload->consume(session, yields != 0);
    std::copy(seen.begin(), seen.end(), &c_api::at(out));
  });
}

ap_status ap_threads_drain(ap_threads* handle) {
  return c_api::status<ap_status>({}, [&] { c_api::at(handle).workload->drain(); });
}

ap_status ap_threads_get_counts(const ap_threads* handle, ap_threads_counts* counts) {
  return c_api::status<ap_status>({}, [&] { c_api::at(counts) = c_api::at(handle).workload->counts(); });
}

ap_status ap_threads_get_received(const ap_threads* handle, int64_t* received, int64_t rings) {
  return c_api::status<ap_status>({}, [&] {
    const std::vector<std::int64_t> by_ring = c_api::at(handle).workload->received();
    c_api::require(static_cast<std::int64_t>(by_ring.size()) == rings, "rings is not the number of threads");
    std::copy(by_ring.begin(), by_ring.end(), &c_api::at(received));
  });
}

ap_status ap_threads_get_checksum(const ap_threads* handle, uint64_t* checksum) {
  return c_api::status<ap_status>({}, [&] { c_api::at(checksum) = c_api::at(handle).workload->checksum(); });
}

ap_status ap_threads_audit(const ap_threads* handle, char* message, size_t message_bytes) {
  return c_api::audited<ap_status>({message, message_bytes}, [&] { return c_api::at(handle).workload->audit(); });
}

void ap_threads_destroy(ap_threads* handle) { delete handle; }
