// The C face of the messages workload.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "allocpool.h"
#include "c_api.hpp"
#include "messages/trial.hpp"
#include "os/clock.hpp"

namespace c_api = allocpool::c_api;
namespace messages = allocpool::messages;

struct ap_messages {
  std::unique_ptr<messages::Workload> workload;
};

ap_messages* ap_messages_create(const char* settings, const void* trace, size_t trace_bytes, char* error,
                                size_t error_bytes) {
  return c_api::made({error, error_bytes}, [&] {
    auto made = std::make_unique<ap_messages>();
    made->workload = messages::make_workload(&c_api::at(settings), trace, trace_bytes);
    return made.release();
  });
}

ap_status ap_messages_run(ap_messages* handle, int64_t count, ap_iteration* part) {
  return c_api::status<ap_status>({}, [&] {
    c_api::require(count >= 1, "a length is out of bounds");
    ap_iteration& out = c_api::at(part);
    messages::Workload& workload = *c_api::at(handle).workload;
    out.start_ns = allocpool::os::monotonic_ns();
    workload.run(count);
    out.end_ns = allocpool::os::monotonic_ns();
    out.packets = count;
  });
}

ap_status ap_messages_run_for(ap_messages* handle, int64_t length_ns, ap_iteration* part) {
  return c_api::status<ap_status>({}, [&] {
    c_api::require(length_ns >= 1, "a length is out of bounds");
    ap_iteration& out = c_api::at(part);
    messages::Workload& workload = *c_api::at(handle).workload;
    const std::int64_t before = workload.counts().received;
    out.start_ns = allocpool::os::monotonic_ns();
    workload.run_for(out.start_ns, length_ns);
    out.end_ns = allocpool::os::monotonic_ns();
    out.packets = workload.counts().received - before;
  });
}

ap_status ap_messages_rest(ap_messages* handle, int runs) {
  return c_api::status<ap_status>({}, [&] { c_api::at(handle).workload->rest(runs != 0); });
}

ap_status ap_messages_drain(ap_messages* handle) {
  return c_api::status<ap_status>({}, [&] { c_api::at(handle).workload->drain(); });
}

ap_status ap_messages_get_counts(const ap_messages* handle, ap_messages_counts* counts) {
  return c_api::status<ap_status>({}, [&] { c_api::at(counts) = c_api::at(handle).workload->counts(); });
}

ap_status ap_messages_get_checksum(const ap_messages* handle, uint64_t* checksum) {
  return c_api::status<ap_status>({}, [&] { c_api::at(checksum) = c_api::at(handle).workload->checksum(); });
}

int64_t ap_messages_delays(const ap_messages* handle, int64_t* pairs, int64_t capacity) {
  return c_api::counted<int64_t>({}, [&] {
    const auto delays = c_api::at(handle).workload->delays();
    const std::int64_t written = std::min<std::int64_t>(capacity, static_cast<std::int64_t>(delays.size()));
    for (std::int64_t i = 0; i < written; ++i) {
      (&c_api::at(pairs))[2 * i] = delays[static_cast<std::size_t>(i)].first;
      (&c_api::at(pairs))[2 * i + 1] = delays[static_cast<std::size_t>(i)].second;
    }
    return static_cast<std::int64_t>(delays.size());
  });
}

ap_status ap_messages_audit(const ap_messages* handle, char* message, size_t message_bytes) {
  return c_api::audited<ap_status>({message, message_bytes}, [&] { return c_api::at(handle).workload->audit(); });
}

void ap_messages_destroy(ap_messages* handle) { delete handle; }
