// The C face of the packets workload: no exception passes it.
#include <exception>
#include <memory>
#include <new>
#include <string>

#ifdef ALLOCPOOL_HAS_BOOST
#include <boost/version.hpp>
#endif

#include "allocpool.h"
#include "handles.hpp"
#include "packets/iterations.hpp"
#include "packets/registry.hpp"
#include "packets/slab_steps.hpp"
#include "text.hpp"
#include "user_error.hpp"

namespace {

constexpr std::int64_t kInvalidArgument = -1;
constexpr std::int64_t kOutOfMemory = -2;

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

const char* ap_packets_layouts() { return allocpool::layout_names().c_str(); }

const char* ap_packets_strategies() { return allocpool::strategy_names().c_str(); }

const char* ap_packets_steps() { return allocpool::slab_step_names().c_str(); }

ap_packets* ap_packets_create(const ap_packets_config* config, char* error, size_t error_bytes) {
  try {
    if (config == nullptr || config->layout == nullptr || config->strategy == nullptr) {
      throw allocpool::UserError("layout and strategy must be named: layouts are " + allocpool::layout_names() +
                                 "; strategies are " + allocpool::strategy_names());
    }
    const allocpool::Sizes sizes{config->pool_size, config->queue_size, config->stored_count};
    auto packets = std::make_unique<ap_packets>();
    packets->workload = allocpool::make_workload(config->layout, config->strategy, sizes, config->seed, config->steps);
    return packets.release();
  } catch (const std::bad_alloc&) {
    allocpool::copy_line("out of memory while filling the pool: choose smaller sizes", error, error_bytes);
  } catch (const std::exception& failure) {
    allocpool::copy_line(failure.what(), error, error_bytes);
  }
  return nullptr;
}

int64_t ap_packets_run_packets(ap_packets* packets, int64_t count, int64_t iteration_packets, ap_iteration* out,
                               int64_t capacity) {
  if (packets == nullptr || count < 0 || iteration_packets < 1 || out == nullptr || capacity < 1) {
    return kInvalidArgument;
  }
  try {
    return allocpool::run_packets(*packets->workload, count, iteration_packets, out, capacity);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

int64_t ap_packets_run_for(ap_packets* packets, int64_t duration_ns, int64_t iteration_ns, ap_iteration* out,
                           int64_t capacity) {
  if (packets == nullptr || duration_ns < 0 || iteration_ns < 1 || out == nullptr || capacity < 1) {
    return kInvalidArgument;
  }
  try {
    return allocpool::run_for(*packets->workload, duration_ns, iteration_ns, out, capacity);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

void ap_packets_get_counts(const ap_packets* packets, ap_packets_counts* counts) {
  *counts = packets->workload->counts();
}

uint64_t ap_packets_checksum(const ap_packets* packets) { return packets->workload->checksum(); }

ap_region ap_packets_region(const ap_packets* packets) { return packets->workload->region(); }

int ap_packets_audit(const ap_packets* packets, char* message, size_t message_bytes) {
  std::string finding;
  try {
    finding = packets->workload->audit();
  } catch (const std::exception& failure) {
    finding = std::string("audit could not run: ") + failure.what();
  }
  allocpool::copy_line(finding, message, message_bytes);
  return finding.empty() ? 0 : 1;
}

void ap_packets_destroy(ap_packets* packets) { delete packets; }
