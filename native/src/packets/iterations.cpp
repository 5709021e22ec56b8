#include "packets/iterations.hpp"

#include <algorithm>

#include "os/clock.hpp"

namespace allocpool {
namespace {

constexpr std::int64_t kPacketsPerClockRead = 256;

class Recorder {
 public:
  Recorder(ap_iteration* out, std::int64_t capacity) : out_(out), capacity_(capacity) {}

  void add(std::int64_t start_ns, std::int64_t end_ns, std::int64_t packets) {
    if (used_ < capacity_) {
      out_[used_++] = {start_ns, end_ns, packets};
    } else {
      out_[capacity_ - 1].end_ns = end_ns;
      out_[capacity_ - 1].packets += packets;
    }
  }

  std::int64_t used() const { return used_; }

 private:
  ap_iteration* const out_;
  const std::int64_t capacity_;
  std::int64_t used_ = 0;
};

}  // namespace

std::int64_t run_packets(Workload& workload, std::int64_t packets, std::int64_t iteration_packets, ap_iteration* out,
                         std::int64_t capacity) {
  Recorder recorder(out, capacity);
  std::int64_t start_ns = os::monotonic_ns();
  while (packets > 0) {
    const std::int64_t count = std::min(packets, iteration_packets);
    workload.run(count);
    packets -= count;
    const std::int64_t now_ns = os::monotonic_ns();
    recorder.add(start_ns, now_ns, count);
    start_ns = now_ns;
  }
  return recorder.used();
}

std::int64_t run_for(Workload& workload, std::int64_t duration_ns, std::int64_t iteration_ns, ap_iteration* out,
                     std::int64_t capacity) {
  Recorder recorder(out, capacity);
  const std::int64_t begin_ns = os::monotonic_ns();
  std::int64_t now_ns = begin_ns;
  while (now_ns - begin_ns < duration_ns) {
    const std::int64_t start_ns = now_ns;
    std::int64_t count = 0;
    do {
      workload.run(kPacketsPerClockRead);
      count += kPacketsPerClockRead;
      now_ns = os::monotonic_ns();
    } while (now_ns - start_ns < iteration_ns && now_ns - begin_ns < duration_ns);
    recorder.add(start_ns, now_ns, count);
  }
  return recorder.used();
}

}  // namespace allocpool
