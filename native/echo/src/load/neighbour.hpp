// Another program on the server's machine: it walks over memory of its own, rests, and walks again. What others evict from
// the caches that it shares with them makes a walk dearer. It lives in the load generator's process, so neither its memory
// nor its time is counted as the server's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace allocpool::echo {

class Neighbour {
 public:
  static constexpr std::size_t kLines = 4096;  // of 64 bytes: a quarter of a MiB, which a core's own cache can hold

  Neighbour();
  ~Neighbour() { stop(); }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  // Walks fifty times a second until it is stopped.
  void start();
  void stop();

  // Once it is stopped: walks counted, and the median of their processor time, ns; 0 without any.
  std::int64_t walks() const { return static_cast<std::int64_t>(costs_ns_.size()); }
  std::int64_t walk_ns() const;

 private:
  struct alignas(64) Line {
    const Line* next;
  };

  void run();
  void walk();

  std::vector<Line> lines_;
  const Line* at_;
  std::atomic<bool> stopped_{false};
  std::vector<std::int64_t> costs_ns_;
  std::thread thread_;
};

}  // namespace allocpool::echo
