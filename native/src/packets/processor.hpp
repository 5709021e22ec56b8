// The message processor: obtain, fill, queue; take the oldest, parse, store or free.
//
// Layout and strategy are template parameters, so that the compiler sees one straight loop for each pair and a cheap
// strategy is not charged for the freedom to choose another. A layout says what a packet's Handle is: a pointer, or an
// index into a slab.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "packets/wire.hpp"
#include "packets/workload.hpp"

namespace allocpool {

template <class Layout, class Strategy>
class Processor final : public Workload {
 public:
  using Handle = typename Layout::Handle;

  // What follows the seed is the layout's own.
  template <class... LayoutArguments>
  Processor(const Sizes& sizes, std::uint64_t seed, LayoutArguments&&... arguments)
      : layout_(std::forward<LayoutArguments>(arguments)...),
        strategy_(layout_, sizes.pool_size),
        fifo_(static_cast<std::size_t>(sizes.queue_size), Layout::kNone),
        store_(static_cast<std::size_t>(sizes.stored_count), Layout::kNone),
        seed_(seed),
        store_seed_(store_seed(seed)) {}

  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  ~Processor() override {
    // By way of a sorted set: a packet that a faulty strategy gave out twice is still deleted once.
    std::vector<Handle> all;
    each_live([&](Handle packet) { all.push_back(packet); });
    strategy_.each_pooled([&](Handle packet) { all.push_back(packet); });
    std::sort(all.begin(), all.end(), std::less<Handle>());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const Handle packet : all) layout_.destroy(packet);
  }

  void run(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) receive(next_sequence_++);
  }

  void receive(std::uint64_t sequence) {
    const Handle packet = strategy_.obtain();
    ++allocated_;
    write_header(layout_.header(packet), drawn_fields(seed_, sequence));
    const Handle oldest = fifo_[cursor_];
    fifo_[cursor_] = packet;
    if (++cursor_ == fifo_.size()) cursor_ = 0;
    if constexpr (Layout::kPrefetch) prefetch_queued();
    if (oldest != Layout::kNone) process(oldest);
  }

  Strategy& strategy() { return strategy_; }
  const Layout& layout() const { return layout_; }
  Handle queued(std::size_t slot) const { return fifo_[slot]; }

  ap_packets_counts counts() const override {
    ap_packets_counts counts{};
    counts.received = allocated_;  // every received packet is obtained exactly once
    counts.parsed = parsed_;
    counts.tcp = static_cast<std::int64_t>(tcp_);
    counts.evicted = static_cast<std::int64_t>(tcp_ - filled_);
    counts.allocated = allocated_;
    counts.freed = freed_;
    each_live([&](Handle) { ++counts.live; });
    counts.constructed = strategy_.constructed();
    counts.discarded = strategy_.discarded();
    return counts;
  }

  std::uint64_t checksum() const override {
    std::uint64_t checksum = checksum_;
    for (const Handle packet : store_) {
      if (packet != Layout::kNone && layout_.is_parsed(packet)) checksum = fold(checksum, layout_.fields(packet));
    }
    return checksum;
  }

  ap_region region() const override { return layout_.region(); }

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
    Handle packet;
    const char* where;
    std::size_t index;
  };

  void process(Handle packet) {
    if (!has_marker(layout_.header(packet))) {
      ++malformed_;
      release(packet);
      return;
    }
    const std::uint8_t transport = layout_.parse(packet);
    ++parsed_;
    checksum_ = fold(checksum_, layout_.fields(packet));
    if (transport == kTcp) {
      keep(packet);
    } else {
      release(packet);
    }
  }

  // The store fills in order; then each new packet replaces one that the store's own stream draws.
  void keep(Handle packet) {
    const std::uint64_t ordinal = tcp_++;
    if (filled_ < store_.size()) {
      store_[filled_++] = packet;
      return;
    }
    const std::size_t slot = replaced_slot(ordinal);
    const Handle evicted = store_[slot];
    store_[slot] = packet;
    release(evicted);
    if constexpr (Layout::kPrefetch) prefetch_victims(ordinal);
  }

  std::size_t replaced_slot(std::uint64_t ordinal) const {
    return ((draw(store_seed_, ordinal) >> 32) * store_.size()) >> 32;
  }

  // The packet that the FIFO yields kPrefetch packets later.
  void prefetch_queued() {
    if (++ahead_ == fifo_.size()) ahead_ = 0;
    const Handle soon = fifo_[ahead_];
    if (soon != Layout::kNone) layout_.prefetch(soon);
  }

  // An evicted packet is the next one to be written. Which one that will be is known before: first its place in the store
  // is fetched, one TCP packet later the packet itself.
  void prefetch_victims(std::uint64_t ordinal) {
    __builtin_prefetch(&store_[replaced_slot(ordinal + 2)]);
    layout_.prefetch(store_[replaced_slot(ordinal + 1)]);
  }

  void release(Handle packet) {
    ++freed_;
    layout_.release(packet);
    strategy_.give_back(packet);
  }

  template <class Visit>
  void each_live(Visit visit) const {
    for (const Handle packet : fifo_) {
      if (packet != Layout::kNone) visit(packet);
    }
    for (const Handle packet : store_) {
      if (packet != Layout::kNone) visit(packet);
    }
  }

  std::string find_duplicate() const {
    std::vector<Place> places;
    for (std::size_t i = 0; i < fifo_.size(); ++i) places.push_back({fifo_[i], "FIFO", i});
    for (std::size_t i = 0; i < store_.size(); ++i) places.push_back({store_[i], "store", i});
    std::size_t pooled = 0;
    strategy_.each_pooled([&](Handle packet) { places.push_back({packet, "pool", pooled++}); });
    places.erase(std::remove_if(places.begin(), places.end(), [](const Place& p) { return p.packet == Layout::kNone; }),
                 places.end());
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return std::less<Handle>()(a.packet, b.packet); });
    const auto twice = std::adjacent_find(places.begin(), places.end(),
                                          [](const Place& a, const Place& b) { return a.packet == b.packet; });
    if (twice == places.end()) return {};
    const auto name = [](const Place& p) { return std::string(p.where) + " slot " + std::to_string(p.index); };
    return "one packet is in two places: " + name(twice[0]) + " and " + name(twice[1]);
  }

  Layout layout_;
  Strategy strategy_;
  std::vector<Handle> fifo_;
  std::vector<Handle> store_;
  std::size_t cursor_ = 0;
  std::size_t ahead_ = Layout::kPrefetch % fifo_.size();  // leads the cursor by kPrefetch slots
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
