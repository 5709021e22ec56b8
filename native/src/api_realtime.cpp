// The C face of the source, the ring and its C++ consumers: no exception passes it.
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "allocpool.h"
#include "handles.hpp"
#include "realtime/consumer.hpp"
#include "text.hpp"
#include "user_error.hpp"

namespace realtime = allocpool::realtime;

namespace {

// Runs `action` and turns what it throws into a line.
template <class Result, class Action>
Result guarded(Result failed, char* error, size_t error_bytes, Action action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    allocpool::copy_line("out of memory: choose smaller sizes", error, error_bytes);
  } catch (const std::exception& failure) {
    allocpool::copy_line(failure.what(), error, error_bytes);
  }
  return failed;
}

template <class Record>
const Record* records(const realtime::Log<Record>& log, int64_t* count, int64_t* overflow) {
  *count = static_cast<int64_t>(log.size());
  *overflow = log.overflow();
  return log.data();
}

}  // namespace

int64_t ap_realtime_capacity(double input_queue_ms, double interval_ns, char* error, size_t error_bytes) {
  return guarded<int64_t>(-1, error, error_bytes, [&] { return realtime::capacity_of(input_queue_ms, interval_ns); });
}

int64_t ap_realtime_max_capacity() { return realtime::Ring::kMaxCapacity; }

ap_realtime* ap_realtime_create(int64_t max_capacity, int64_t max_bursts, int64_t max_slips, int64_t max_samples,
                                char* error, size_t error_bytes) {
  return guarded<ap_realtime*>(nullptr, error, error_bytes, [&] {
    const realtime::Session::Limits limits{max_capacity, max_bursts, max_slips, max_samples};
    return new ap_realtime{realtime::Session(limits)};
  });
}

void* ap_realtime_memory(ap_realtime* realtime) { return realtime->session.memory().data(); }

int64_t ap_realtime_memory_bytes(const ap_realtime* realtime) {
  return static_cast<int64_t>(realtime->session.memory().bytes());
}

int ap_realtime_start(ap_realtime* realtime, const ap_source_config* config, char* error, size_t error_bytes) {
  return guarded(-1, error, error_bytes, [&] {
    realtime->session.start(*config);
    return 0;
  });
}

int ap_realtime_consume(ap_realtime* realtime, ap_packets* packets, const ap_consumer_config* config,
                        ap_consumption* out, char* error, size_t error_bytes) {
  return guarded(-1, error, error_bytes, [&] {
    if (config->max_ticks < 0 || config->stall_at_ns < 0 || config->stall_ns < 0) {
      throw allocpool::UserError("max_ticks, stall_at_ns and stall_ns must not be negative");
    }
    realtime::Session& session = realtime->session;
    session.begin_consuming();
    realtime::Consumer consumer(session.ring(), session.delays());
    consumer.set_stall({config->stall_at_ns, config->stall_ns});
    *out = packets == nullptr ? consumer.run(config->max_ticks, [](std::int64_t) {})
                              : packets->workload->consume(consumer, config->max_ticks);
    return 0;
  });
}

void ap_realtime_wait(ap_realtime* realtime) { realtime->session.source().wait(); }

void ap_realtime_stop(ap_realtime* realtime) { realtime->session.source().stop(); }

void ap_realtime_get_account(const ap_realtime* realtime, ap_source_account* account) {
  *account = realtime->session.account();
}

const ap_burst* ap_realtime_bursts(const ap_realtime* realtime, int64_t* count, int64_t* overflow) {
  return records(realtime->session.source().bursts(), count, overflow);
}

const ap_slip* ap_realtime_slips(const ap_realtime* realtime, int64_t* count, int64_t* overflow) {
  return records(realtime->session.source().slips(), count, overflow);
}

const ap_sample* ap_realtime_samples(const ap_realtime* realtime, int64_t* count, int64_t* overflow) {
  return records(realtime->session.source().samples(), count, overflow);
}

const int64_t* ap_realtime_delays(const ap_realtime* realtime, int64_t* length) {
  *length = static_cast<int64_t>(realtime->session.delays().counts().size());
  return realtime->session.delays().counts().data();
}

int ap_realtime_audit(const ap_realtime* realtime, const ap_consumption* consumption, char* message,
                      size_t message_bytes) {
  std::string finding;
  try {
    finding = realtime->session.audit(*consumption);
  } catch (const std::exception& failure) {
    finding = std::string("audit could not run: ") + failure.what();
  }
  allocpool::copy_line(finding, message, message_bytes);
  return finding.empty() ? 0 : 1;
}

void ap_realtime_destroy(ap_realtime* realtime) { delete realtime; }
