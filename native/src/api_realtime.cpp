// The C face of the source, the ring and its C++ consumers.
#include <cstdint>

#include "allocpool.h"
#include "c_api.hpp"
#include "handles.hpp"
#include "os/thread.hpp"
#include "realtime/consumer.hpp"

namespace c_api = allocpool::c_api;
namespace realtime = allocpool::realtime;

namespace {

template <class Record>
const Record* records(const ap_realtime* realtime, const realtime::Log<Record>& (realtime::Source::*log)() const,
                      int64_t* count, int64_t* overflow) {
  return c_api::made({}, [&] {
    const realtime::Log<Record>& logged = (c_api::at(realtime).session.source().*log)();
    c_api::at(count) = static_cast<int64_t>(logged.size());
    c_api::at(overflow) = logged.overflow();
    return logged.data();
  });
}

}  // namespace

int64_t ap_realtime_capacity(double input_queue_ms, double interval_ns, char* error, size_t error_bytes) {
  return c_api::counted<int64_t>({error, error_bytes},
                                 [&] { return realtime::capacity_of(input_queue_ms, interval_ns); });
}

int64_t ap_realtime_max_capacity() { return realtime::Ring::kMaxCapacity; }

ap_realtime* ap_realtime_create(int64_t max_capacity, int64_t max_bursts, int64_t max_slips, int64_t max_samples,
                                char* error, size_t error_bytes) {
  return c_api::made({error, error_bytes}, [&] {
    const realtime::Session::Limits limits{max_capacity, max_bursts, max_slips, max_samples};
    return new ap_realtime{realtime::Session(limits)};
  });
}

ap_realtime* ap_realtime_create_by_flow(int64_t rings, uint64_t seed, int64_t max_capacity, int64_t max_bursts,
                                        int64_t max_slips, int64_t max_samples, char* error, size_t error_bytes) {
  return c_api::made({error, error_bytes}, [&] {
    const realtime::Session::Limits limits{max_capacity, max_bursts, max_slips, max_samples, rings, seed};
    return new ap_realtime{realtime::Session(limits)};
  });
}

ap_status ap_realtime_set_intermediate(ap_realtime* realtime, int64_t capacity, char* error, size_t error_bytes) {
  return c_api::status<ap_status>({error, error_bytes},
                                  [&] { c_api::at(realtime).session.set_intermediate(capacity); });
}

void* ap_realtime_memory(ap_realtime* realtime) {
  return c_api::made({}, [&] { return c_api::at(realtime).session.memory().data(); });
}

void* ap_realtime_ring_memory(ap_realtime* realtime, int64_t ring) {
  return c_api::made({}, [&] { return c_api::at(realtime).session.memory(ring).data(); });
}

int64_t ap_realtime_memory_bytes(const ap_realtime* realtime) {
  return c_api::counted<int64_t>({}, [&] { return c_api::at(realtime).session.memory().bytes(); });
}

ap_status ap_realtime_start(ap_realtime* realtime, const ap_source_config* config, char* error, size_t error_bytes) {
  return c_api::status<ap_status>({error, error_bytes},
                                  [&] { c_api::at(realtime).session.start(c_api::at(config)); });
}

ap_status ap_realtime_consume(ap_realtime* realtime, ap_packets* packets, const ap_consumer_config* config,
                              ap_consumption* out, char* error, size_t error_bytes) {
  return c_api::status<ap_status>({error, error_bytes}, [&] {
    const ap_consumer_config& asked = c_api::at(config);
    c_api::require(asked.max_ticks >= 0 && asked.stall_at_ns >= 0 && asked.stall_ns >= 0,
                   "max_ticks, stall_at_ns and stall_ns must not be negative");
    ap_consumption& account = c_api::at(out);
    realtime::Session& session = c_api::at(realtime).session;
    session.begin_consuming();
    realtime::Consumer consumer(session.ring(), session.delays(), asked.max_ticks,
                                {asked.stall_at_ns, asked.stall_ns});
    if (packets != nullptr) {
      packets->workload->receive(consumer);
    } else {
      while (consumer.next().count > 0) continue;
    }
    account = consumer.account();
  });
}

ap_status ap_realtime_wait(ap_realtime* realtime) {
  return c_api::status<ap_status>({}, [&] { c_api::at(realtime).session.wait(); });
}

ap_status ap_realtime_stop(ap_realtime* realtime) {
  return c_api::status<ap_status>({}, [&] { c_api::at(realtime).session.stop(); });
}

ap_status ap_realtime_get_account(const ap_realtime* realtime, ap_source_account* account) {
  return c_api::status<ap_status>({}, [&] { c_api::at(account) = c_api::at(realtime).session.account(); });
}

ap_status ap_realtime_get_ring_account(const ap_realtime* realtime, int64_t ring, ap_ring_account* account) {
  return c_api::status<ap_status>({}, [&] { c_api::at(account) = c_api::at(realtime).session.ring_account(ring); });
}

const ap_burst* ap_realtime_bursts(const ap_realtime* realtime, int64_t* count, int64_t* overflow) {
  return records(realtime, &realtime::Source::bursts, count, overflow);
}

const ap_slip* ap_realtime_slips(const ap_realtime* realtime, int64_t* count, int64_t* overflow) {
  return records(realtime, &realtime::Source::slips, count, overflow);
}

const ap_sample* ap_realtime_samples(const ap_realtime* realtime, int64_t* count, int64_t* overflow) {
  return records(realtime, &realtime::Source::samples, count, overflow);
}

const int64_t* ap_realtime_delays(const ap_realtime* realtime, int64_t* length) {
  return c_api::made({}, [&] {
    const auto& counts = c_api::at(realtime).session.delays().counts();
    c_api::at(length) = static_cast<int64_t>(counts.size());
    return counts.data();
  });
}

ap_status ap_realtime_audit(const ap_realtime* realtime, const ap_consumption* consumption, char* message,
                            size_t message_bytes) {
  return c_api::audited<ap_status>({message, message_bytes}, [&] {
    return c_api::at(realtime).session.audit(c_api::at(consumption));
  });
}

int64_t ap_current_processor() { return allocpool::os::current_processor(); }

void ap_realtime_destroy(ap_realtime* realtime) { delete realtime; }
