// The message processor: obtain, fill, queue; take the oldest, parse, store or free.
//
// Layout and strategy are template parameters, so that the compiler sees one straight loop for each pair and a cheap
// strategy is not charged for the freedom to choose another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "packets/wire.hpp"
#include "packets/workload.hpp"

namespace allocpool {

template <class Layout, class Strategy>
class Processor final : public Workload {
 public:
  using Packet = typename Layout::Packet;

  Processor(const Sizes& sizes, std::uint64_t seed)
      : strategy_(layout_, sizes.pool_size),
        fifo_(static_cast<std::size_t>(sizes.queue_size)),
        store_(static_cast<std::size_t>(sizes.stored_count)),
        seed_(seed),
        store_seed_(store_seed(seed)) {}

  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  ~Processor() override {
    // By way of a sorted set: a packet that a faulty strategy gave out twice is still deleted once.
    std::vector<Packet*> all;
    each_live([&](Packet* packet) { all.push_back(packet); });
    strategy_.each_pooled([&](Packet* packet) { all.push_back(packet); });
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (Packet* packet : all) layout_.destroy(packet);
  }

  void run(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) receive(next_sequence_++);
  }

  ap_consumption consume(realtime::Consumer& consumer, std::int64_t max_ticks) override {
    return consumer.run(max_ticks, [this](std::int64_t sequence) { receive(static_cast<std::uint64_t>(sequence)); });
  }

  void receive(std::uint64_t sequence) {
    Packet* const packet = strategy_.obtain();
    ++allocated_;
    write_header(packet->buffer.data(), drawn_fields(seed_, sequence));
    Packet* const oldest = fifo_[cursor_];
    fifo_[cursor_] = packet;
    if (++cursor_ == fifo_.size()) cursor_ = 0;
    if (oldest != nullptr) process(oldest);
  }

  Strategy& strategy() { return strategy_; }
  Packet* queued(std::size_t slot) const { return fifo_[slot]; }

  ap_packets_counts counts() const override {
    ap_packets_counts counts{};
    counts.received = allocated_;  // every received packet is obtained exactly once
    counts.parsed = parsed_;
    counts.tcp = static_cast<std::int64_t>(tcp_);
    counts.evicted = static_cast<std::int64_t>(tcp_ - filled_);
    counts.allocated = allocated_;
    counts.freed = freed_;
    each_live([&](const Packet*) { ++counts.live; });
    counts.constructed = strategy_.constructed();
    counts.discarded = strategy_.discarded();
    return counts;
  }

  std::uint64_t checksum() const override {
    std::uint64_t checksum = checksum_;
    for (const Packet* packet : store_) {
      if (packet != nullptr && Layout::is_parsed(*packet)) checksum = fold(checksum, Layout::fields(*packet));
    }
    return checksum;
  }

  std::string audit() const override {
    if (malformed_ != 0) return std::to_string(malformed_) + " packets reached the parser without the protocol marker";
    const ap_packets_counts count = counts();
    if (count.allocated != count.freed + count.live) {
      return "allocated " + std::to_string(count.allocated) + " is not freed " + std::to_string(count.freed) +
             " + live " + std::to_string(count.live);
    }
    return Strategy::kShared ? std::string() : find_duplicate();
  }

 private:
  struct Place {
    const Packet* packet;
    const char* where;
    std::size_t index;
  };

  void process(Packet* packet) {
    if (!has_marker(packet->buffer.data())) {
      ++malformed_;
      release(packet);
      return;
    }
    const std::uint8_t transport = layout_.parse(*packet);
    ++parsed_;
    checksum_ = fold(checksum_, Layout::fields(*packet));
    if (transport == kTcp) {
      keep(packet);
    } else {
      release(packet);
    }
  }

  // The store fills in order; then each new packet replaces one that the store's own stream draws.
  void keep(Packet* packet) {
    const std::uint64_t ordinal = tcp_++;
    if (filled_ < store_.size()) {
      store_[filled_++] = packet;
      return;
    }
    const std::size_t slot = ((draw(store_seed_, ordinal) >> 32) * store_.size()) >> 32;
    Packet* const evicted = store_[slot];
    store_[slot] = packet;
    release(evicted);
  }

  void release(Packet* packet) {
    ++freed_;
    layout_.release(*packet);
    strategy_.give_back(packet);
  }

  template <class Visit>
  void each_live(Visit visit) const {
    for (Packet* packet : fifo_) {
      if (packet != nullptr) visit(packet);
    }
    for (Packet* packet : store_) {
      if (packet != nullptr) visit(packet);
    }
  }

  std::string find_duplicate() const {
    std::vector<Place> places;
    for (std::size_t i = 0; i < fifo_.size(); ++i) places.push_back({fifo_[i], "FIFO", i});
    for (std::size_t i = 0; i < store_.size(); ++i) places.push_back({store_[i], "store", i});
    std::size_t pooled = 0;
    strategy_.each_pooled([&](const Packet* packet) { places.push_back({packet, "pool", pooled++}); });
    places.erase(std::remove_if(places.begin(), places.end(), [](const Place& p) { return p.packet == nullptr; }),
                 places.end());
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.packet < b.packet; });
    const auto twice = std::adjacent_find(places.begin(), places.end(),
                                          [](const Place& a, const Place& b) { return a.packet == b.packet; });
    if (twice == places.end()) return {};
    const auto name = [](const Place& p) { return std::string(p.where) + " slot " + std::to_string(p.index); };
    return "one packet is in two places: " + name(twice[0]) + " and " + name(twice[1]);
  }

  Layout layout_;
  Strategy strategy_;
  std::vector<Packet*> fifo_;
  std::vector<Packet*> store_;
  std::size_t cursor_ = 0;
  std::size_t filled_ = 0;
  const std::uint64_t seed_;
  const std::uint64_t store_seed_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t tcp_ = 0;
  std::uint64_t checksum_ = 0;
  std::int64_t allocated_ = 0;
  std::int64_t freed_ = 0;
  std::int64_t parsed_ = 0;
  std::int64_t malformed_ = 0;
};

}  // namespace allocpool
