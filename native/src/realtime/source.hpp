// The source: the thread that ticks.
//
// Tick i is due at t0 + i * interval. A tick that is late is emitted at once, none is skipped, so the number of ticks
// is a matter of arithmetic, whatever the scheduler does to this thread. A tick that finds the ring full is lost.
// With interval 0 the source saturates: it emits as fast as it can and waits when the ring is full, so that the rate
// of draining shows and nothing is lost.
//
// With several rings each tick goes into that of its flow (flows.hpp), and what finds that one full is lost.
//
// Everything is recorded into memory that is there before the start: bursts of losses, source stalls, and
// samples of the counters. What does not fit is counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "allocpool.h"
#include "realtime/counter.hpp"
#include "realtime/ring.hpp"

namespace allocpool::realtime {

// A list of fixed size that counts what it has no place for.
template <class Record>
class Log {
 public:
  explicit Log(std::size_t capacity) : records_(capacity) {}

  void clear() {
    used_ = 0;
    overflow_ = 0;
  }

  void add(const Record& record) {
    if (used_ < records_.size()) {
      records_[used_++] = record;
    } else {
      ++overflow_;
    }
  }

  const Record* data() const { return records_.data(); }
  std::size_t size() const { return used_; }
  std::int64_t overflow() const { return overflow_; }

 private:
  std::vector<Record> records_;
  std::size_t used_ = 0;
  std::int64_t overflow_ = 0;
};

// A run that has been checked.
struct SourceConfig {
  double interval_ns;  // 0: saturate
  std::int64_t ticks;
  std::int64_t warmup_ticks;
  std::int64_t slip_threshold_ns;
  std::int64_t burst_gap_ns;
  int processor;  // -1: not pinned
  bool use_tsc;
  bool yields;  // sleeps while nothing is due
};

// Of one of several rings. `warmup` figures are part of the whole.
struct RingAccount {
  std::int64_t generated = 0;
  std::int64_t lost = 0;
  std::int64_t warmup_generated = 0;
  std::int64_t warmup_lost = 0;
};

// The producer's own account of one run. `warmup` figures are part of the whole, not added to it.
struct SourceAccount {
  std::int64_t generated = 0;
  std::int64_t lost = 0;
  std::int64_t warmup_generated = 0;
  std::int64_t warmup_lost = 0;
  std::int64_t pushed = 0;
  std::int64_t last_pushed = RingReader::kNone;
  std::int64_t t0_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t slip_total_ns = 0;
  std::int64_t cpu_ns = 0;
  double clock_drift_ppm = 0;
  double clock_max_error_ns = 0;
  bool is_tsc = false;
  bool pinned = false;
  int processor = -1;
  std::int64_t moves = 0;
};

class Source {
 public:
  // `flow_seed` divides the ticks between the rings, where these are several.
  Source(std::vector<Ring> rings, std::uint64_t flow_seed, std::size_t max_bursts, std::size_t max_slips,
         std::size_t max_samples);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Starts a run on a ring that was just reset. The source waits until a consumer is ready. May be called
  // again after wait() or stop().
  void start(const SourceConfig& config);

  // Blocks until all ticks are generated.
  void wait();

  // Ends generating now.
  void stop();

  bool running() const { return thread_.joinable(); }

  // To be read after wait() or stop().
  const SourceAccount& account() const { return account_; }
  const std::vector<RingAccount>& by_ring() const { return by_ring_; }
  const Log<ap_burst>& bursts() const { return bursts_; }
  const Log<ap_slip>& slips() const { return slips_; }
  const Log<ap_sample>& samples() const { return samples_; }

 private:
  template <class Counter>
  void run_with();
  template <class Counter, class Outlet>
  void run();

  const std::vector<Ring> rings_;
  const std::uint64_t flow_seed_;
  Log<ap_burst> bursts_;
  Log<ap_slip> slips_;
  Log<ap_sample> samples_;
  SourceConfig config_{};
  SourceAccount account_;
  std::vector<RingAccount> by_ring_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace allocpool::realtime
