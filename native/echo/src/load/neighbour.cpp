#include "load/neighbour.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "buffers/touch.hpp"
#include "splitmix.hpp"

namespace allocpool::echo {

namespace {

constexpr std::chrono::milliseconds kRest{2};
constexpr std::int64_t kUncounted = 2;  // walks that bring the lines in

// Processor time: what other programs take of the processor in the meantime is not in it, what they evict is.
std::int64_t processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::int64_t median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

// One cycle through all lines in an order that no prefetcher foresees (Sattolo, "An algorithm to generate a random cyclic
// permutation", Information Processing Letters 22, 1986).
Neighbour::Neighbour() : lines_(kLines), at_(lines_.data()) {
  for (std::size_t i = 0; i < kLines; ++i) lines_[i].next = &lines_[i];
  for (std::size_t i = kLines - 1; i > 0; --i) {
    const std::size_t other = ((draw(kLines, i) >> 32) * i) >> 32;
    std::swap(lines_[i].next, lines_[other].next);
  }
}

void Neighbour::start() {
  thread_ = std::thread([this] { run(); });
}

void Neighbour::stop() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

void Neighbour::run() {
  for (std::int64_t number = 0; !stopped_; ++number) {
    const std::int64_t after_rest_ns = walk();
    const std::int64_t again_ns = walk();
    if (number >= kUncounted) {
      after_rest_ns_.push_back(after_rest_ns);
      again_ns_.push_back(again_ns);
    }
    std::this_thread::sleep_for(kRest);
  }
}

std::int64_t Neighbour::walk_ns() const { return median(after_rest_ns_); }

std::int64_t Neighbour::again_ns() const { return median(again_ns_); }

std::int64_t Neighbour::walk() {
  const std::int64_t before_ns = processor_ns();
  for (std::size_t i = 0; i < kLines; ++i) at_ = at_->next;
  buffers::escape(const_cast<Line*>(at_));
  return processor_ns() - before_ns;
}

}  // namespace allocpool::echo
