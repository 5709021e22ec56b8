// What the outside knows of a trial on many threads, whatever its topology, layout and strategy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "allocpool.h"
#include "realtime/session.hpp"

namespace allocpool::threads {

// Messages that the queue between a receiver and a worker has room for.
inline constexpr std::size_t kBetween = 1024;

struct Sizes {
  std::int64_t threads;
  std::int64_t pool_size;
  std::int64_t queue_size;    // of all workers together
  std::int64_t stored_count;  // of all workers together
  std::uint64_t seed;
  bool padded = true;  // what threads exchange in a pool lies two cache lines apart
};

class Workload {
 public:
  virtual ~Workload() = default;
  virtual void run(std::int64_t packets) = 0;
  // Receives what the source of a session ticks, until it has finished; an account for each of its rings, of which there are
  // as many as threads, or one before a receiver. Throws UserError where there are others.
  virtual std::vector<ap_consumption> consume(realtime::Session& session, bool yields) = 0;
  virtual void drain() = 0;
  virtual ap_threads_counts counts() const = 0;
  virtual std::vector<std::int64_t> received() const = 0;
  virtual std::uint64_t checksum() const = 0;
  // Empty, or one line that says what is wrong. After drain.
  [[nodiscard]] virtual std::string audit() const = 0;
};

// Throws UserError when a name or a size is out of bounds.
[[nodiscard]] std::unique_ptr<Workload> make_workload(std::string_view topology, std::string_view layout,
                                                      std::string_view strategy, const Sizes& sizes);

// Comma-separated.
[[nodiscard]] const std::string& strategy_names();

}  // namespace allocpool::threads
