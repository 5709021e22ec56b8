#include "realtime/relay.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "os/thread.hpp"

namespace allocpool::realtime {

Relay::Relay(const Ring& input, std::int64_t capacity)
    : input_(input), capacity_(capacity), memory_(Ring::bytes(capacity)), ring_(memory_.data()) {}

Relay::~Relay() { stop(); }

void Relay::start(std::int64_t look_ns) {
  look_ns_ = look_ns;
  stop_.store(false);
  ring_.reset(capacity_);
  const RingHeader& in = input_.header();
  RingHeader& out = ring_.header();
  out.interval_ns.store(in.interval_ns.load());
  out.warmup.store(in.warmup.load());
  out.ticks.store(in.ticks.load());
  out.state.store(RingHeader::kWaiting, std::memory_order_release);
  thread_ = std::thread(&Relay::run, this);
}

void Relay::stop() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
}

void Relay::run() {
  os::name_this_thread("ap-relay");
  const std::chrono::nanoseconds look(look_ns_);
  RingHeader& in = input_.header();
  RingHeader& out = ring_.header();
  while (out.ready.load(std::memory_order_acquire) == 0 && !stop_.load()) std::this_thread::sleep_for(look);
  in.ready.store(1, std::memory_order_release);
  while (in.state.load(std::memory_order_acquire) < RingHeader::kRunning && !stop_.load()) {
    std::this_thread::sleep_for(look);
  }
  out.t0_ns.store(in.t0_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  out.state.store(RingHeader::kRunning, std::memory_order_release);

  RingReader reader(input_);
  RingWriter writer(ring_);
  std::int64_t last = RingReader::kNone;
  for (;;) {
    const bool stopped = stop_.load();
    // What was pushed before the state changed is seen by the next look into the ring.
    const bool finished = in.state.load(std::memory_order_acquire) == RingHeader::kFinished;
    const std::int64_t moved = move(reader, writer, last);
    if (moved > 0) continue;
    if (stopped || (finished && writer.room() > 0)) break;
    std::this_thread::sleep_for(look);
  }
  in.last.store(static_cast<std::uint64_t>(last + 1), std::memory_order_release);
  out.state.store(RingHeader::kFinished, std::memory_order_release);
}

std::int64_t Relay::move(RingReader& reader, RingWriter& writer, std::int64_t& last) {
  constexpr std::size_t kBatch = 256;
  std::array<std::int64_t, kBatch> batch;
  // A part of the input queue, so that its slots are free again soon.
  const std::int64_t most = std::clamp<std::int64_t>(input_.capacity() / 4, 1, kBatch);
  std::int64_t moved = 0;
  for (;;) {
    const std::int64_t wanted = std::min(most, writer.known_room() > 0 ? writer.known_room() : writer.room());
    const std::size_t taken = wanted > 0 ? reader.take(batch.data(), static_cast<std::size_t>(wanted)) : 0;
    if (taken == 0) return moved;
    for (std::size_t i = 0; i < taken; ++i) writer.push(batch[i]);
    last = batch[taken - 1];
    moved += static_cast<std::int64_t>(taken);
  }
}

}  // namespace allocpool::realtime
