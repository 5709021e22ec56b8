// Another program on the server's machine: it walks over memory of its own, rests, and walks again. What others evict from
// the caches that it shares with them makes that walk dearer; another at once afterwards shows what it costs when nothing
// was evicted. The rest is so short that a server evicts part of the lines: after a long one all are gone, whatever it
// does. It lives in the load generator's process, so neither its memory nor its time is counted as the server's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace allocpool::echo {

class Neighbour {
 public:
  static constexpr std::size_t kLines = 2048;  // of 64 bytes: 128 KiB, which a core's own cache can hold

  Neighbour();
  ~Neighbour() { stop(); }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  // Walks some hundred times a second until it is stopped.
  void start();
  void stop();

  // Once it is stopped: walks after a rest, and the median processor time of these and of those at once afterwards, ns; 0
  // without any.
  std::int64_t walks() const { return static_cast<std::int64_t>(after_rest_ns_.size()); }
  std::int64_t walk_ns() const;
  std::int64_t again_ns() const;

 private:
  struct alignas(64) Line {
    const Line* next;
  };

  void run();
  std::int64_t walk();

  std::vector<Line> lines_;
  const Line* at_;
  std::atomic<bool> stopped_{false};
  std::vector<std::int64_t> after_rest_ns_;
  std::vector<std::int64_t> again_ns_;
  std::thread thread_;
};

}  // namespace allocpool::echo
