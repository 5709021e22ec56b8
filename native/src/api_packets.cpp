// The C face of the packets workload.
#include <cstdint>
#include <memory>
#include <string>

#ifdef ALLOCPOOL_HAS_BOOST
#include <boost/version.hpp>
#endif

#include "allocpool.h"
#include "c_api.hpp"
#include "handles.hpp"
#include "packets/iterations.hpp"
#include "packets/registry.hpp"
#include "packets/steps.hpp"

namespace c_api = allocpool::c_api;

namespace {

constexpr bool is(int status, c_api::Code code) { return status == static_cast<int>(code); }
static_assert(is(AP_OK, c_api::Code::ok) && is(AP_FAULT, c_api::Code::fault) &&
              is(AP_INVALID_ARGUMENT, c_api::Code::invalid_argument) &&
              is(AP_OUT_OF_MEMORY, c_api::Code::out_of_memory) && is(AP_FAILED, c_api::Code::failed));

template <class Run>
std::int64_t recorded(ap_packets* packets, std::int64_t length, std::int64_t iteration, ap_iteration* out,
                      std::int64_t capacity, Run run) {
  return c_api::counted<std::int64_t>({}, [&] {
    c_api::require(length >= 0 && iteration >= 1 && capacity >= 1, "a length is out of bounds");
    return run(*c_api::at(packets).workload, length, iteration, &c_api::at(out), capacity);
  });
}

}  // namespace

const char* ap_version() { return ALLOCPOOL_VERSION; }

const char* ap_build_info() { return ALLOCPOOL_BUILD_INFO; }

const char* ap_boost_version() {
#ifdef ALLOCPOOL_HAS_BOOST
  return BOOST_LIB_VERSION;
#else
  return "";
#endif
}

const char* ap_packets_layouts() {
  return c_api::made({}, [] { return allocpool::layout_names().c_str(); });
}

const char* ap_packets_strategies() {
  return c_api::made({}, [] { return allocpool::strategy_names().c_str(); });
}

const char* ap_packets_memories() {
  return c_api::made({}, [] { return allocpool::memory_names().c_str(); });
}

const char* ap_packets_steps() {
  return c_api::made({}, [] { return allocpool::step_names().c_str(); });
}

ap_packets* ap_packets_create(const ap_packets_config* config, char* error, size_t error_bytes) {
  return c_api::made({error, error_bytes}, [&] {
    const ap_packets_config& asked = c_api::at(config);
    if (asked.layout == nullptr || asked.strategy == nullptr) {
      throw allocpool::UserError("layout and strategy must be named: layouts are " + allocpool::layout_names() +
                                 "; strategies are " + allocpool::strategy_names());
    }
    auto packets = std::make_unique<ap_packets>();
    const allocpool::Settings settings{{asked.pool_size, asked.queue_size, asked.stored_count},
                                       asked.seed,
                                       asked.steps,
                                       asked.aged != 0,
                                       asked.fifo != 0,
                                       asked.payload_touch != 0};
    packets->workload =
        allocpool::make_workload(asked.layout, asked.strategy, asked.memory ? asked.memory : "", settings);
    return packets.release();
  });
}

int64_t ap_packets_run_packets(ap_packets* packets, int64_t count, int64_t iteration_packets, ap_iteration* out,
                               int64_t capacity) {
  return recorded(packets, count, iteration_packets, out, capacity, allocpool::run_packets);
}

int64_t ap_packets_run_for(ap_packets* packets, int64_t duration_ns, int64_t iteration_ns, ap_iteration* out,
                           int64_t capacity) {
  return recorded(packets, duration_ns, iteration_ns, out, capacity, allocpool::run_for);
}

ap_status ap_packets_get_counts(const ap_packets* packets, ap_packets_counts* counts) {
  return c_api::status<ap_status>({}, [&] { c_api::at(counts) = c_api::at(packets).workload->counts(); });
}

ap_status ap_packets_get_checksum(const ap_packets* packets, uint64_t* checksum) {
  return c_api::status<ap_status>({}, [&] { c_api::at(checksum) = c_api::at(packets).workload->checksum(); });
}

ap_status ap_packets_get_disorder(const ap_packets* packets, double* bytes) {
  return c_api::status<ap_status>({}, [&] { c_api::at(bytes) = c_api::at(packets).workload->disorder_bytes(); });
}

ap_status ap_packets_get_region(const ap_packets* packets, ap_region* region) {
  return c_api::status<ap_status>({}, [&] { c_api::at(region) = c_api::at(packets).workload->region(); });
}

ap_status ap_packets_audit(const ap_packets* packets, char* message, size_t message_bytes) {
  return c_api::audited<ap_status>({message, message_bytes}, [&] { return c_api::at(packets).workload->audit(); });
}

void ap_packets_destroy(ap_packets* packets) { delete packets; }
