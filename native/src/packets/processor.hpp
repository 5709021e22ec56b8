// The message processor: obtain, fill, queue; take the oldest, parse, store or free.
//
// Layout and strategy are template parameters, so that the compiler sees one straight loop for each pair and a cheap
// strategy is not charged for the freedom to choose another. A layout says what a packet's Handle is: a pointer, or an
// index into a slab.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bursts.hpp"
#include "packets/checksum.hpp"
#include "packets/packet_format.hpp"
#include "packets/packet_generator.hpp"
#include "packets/packet_object.hpp"
#include "packets/payload.hpp"
#include "packets/places.hpp"
#include "packets/workload.hpp"
#include "splitmix.hpp"

namespace allocpool {

template <class Layout, class Strategy>
class Processor final : public Workload {
 public:
  using Handle = typename Layout::Handle;

  // What follows the stock is the layout's own.
  template <class... LayoutArguments>
  Processor(const Settings& settings, const Stock& stock, LayoutArguments&&... arguments)
      : layout_(std::forward<LayoutArguments>(arguments)...),
        strategy_(layout_, stock),
        fifo_(static_cast<std::size_t>(settings.sizes.queue_size), Layout::kNone),
        store_(static_cast<std::size_t>(settings.sizes.stored_count), Layout::kNone),
        seed_(settings.seed),
        store_seed_(settings.seed ^ kStoreStream),
        payload_seed_(settings.seed ^ kPayloadStream),
        payload_touch_(settings.payload_touch) {
    state_.ahead = Layout::kPrefetch % fifo_.size();
  }

  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  __attribute__((cold)) ~Processor() override {
    // A packet that a faulty strategy gave out twice is still deleted once.
    for (const Places::Key key : places().each_once()) layout_.destroy(handle_of(key));
  }

  void run(std::int64_t count) override {
    payload_touch_ ? run_on<true>(count) : run_on<false>(count);
    next_sequence_ += static_cast<std::uint64_t>(count);
  }

  void receive(Bursts& bursts) override { payload_touch_ ? receive_on<true>(bursts) : receive_on<false>(bursts); }

  Strategy& strategy() { return strategy_; }
  Layout& layout() { return layout_; }
  Handle queued(std::size_t slot) const { return fifo_[slot]; }
  Handle stored(std::size_t slot) const { return store_[slot]; }

  ap_packets_counts counts() const override { return counters().counts; }

  __attribute__((cold)) std::uint64_t checksum() const override {
    std::uint64_t checksum = state_.checksum;
    for (const Handle packet : store_) {
      if (packet != Layout::kNone && layout_.is_parsed(packet)) checksum = fold(checksum, layout_.fields(packet));
    }
    return checksum;
  }

  ap_region region() const override { return layout_.region(); }

  __attribute__((cold)) double disorder_bytes() const override {
    constexpr std::size_t kMostPairs = 10'000;
    const std::size_t last = fifo_.size() - 1, step = std::max<std::size_t>(1, last / kMostPairs);
    double sum = 0.0;
    std::size_t pairs = 0;
    for (std::size_t i = 0; i < last && pairs < kMostPairs; i += step) {
      const Handle first = fifo_[(state_.cursor + i) % fifo_.size()];
      const Handle second = fifo_[(state_.cursor + i + 1) % fifo_.size()];
      if (first == Layout::kNone || second == Layout::kNone) continue;
      const std::uintptr_t here = address_of(first), there = address_of(second);
      sum += static_cast<double>(std::max(here, there) - std::min(here, there));
      ++pairs;
    }
    return pairs == 0 ? -1.0 : sum / static_cast<double>(pairs);
  }

  __attribute__((cold)) std::string audit() const override {
    // The plainest finding first: one that is in two places makes the counts disagree, too.
    const std::string twice = Strategy::kShared || state_.malformed != 0 ? "" : places().find_duplicate();
    return twice.empty() ? fault_of(counters(), Strategy::kShared) : twice;
  }

 private:
  // Keeps the draws of the store's slots apart from those of the packets.
  static constexpr std::uint64_t kStoreStream = 0x5DEECE66D1CE4E5BULL;

  // What changes with every packet.
  struct State {
    std::size_t cursor = 0;
    std::size_t ahead = 0;  // leads the cursor by kPrefetch slots
    std::size_t filled = 0;
    std::uint64_t tcp = 0;
    std::uint64_t checksum = 0;
    std::int64_t received = 0;
    std::int64_t parsed = 0;
    std::int64_t evicted = 0;
    std::int64_t allocated = 0;
    std::int64_t freed = 0;
    std::int64_t malformed = 0;
  };

  // A window of receiving. It works on copies of all that changes: the compiler knows that no write into a packet can
  // reach them and keeps them in registers, where members would go through memory twice for each packet. The destructor
  // writes them back, also when memory ran out.
  //
  // What each packet goes through is inlined by force, here and in what layouts and the format add: how much of it the
  // compiler would inline depends on how much else is in the same file, and so on which other layouts there are.
  template <bool kPayload>
  class Run {
   public:
    explicit Run(Processor& processor)
        : processor_(processor),
          layout_(processor.layout_),
          strategy_(processor.strategy_),
          state_(processor.state_),
          fifo_(processor.fifo_.data()),
          fifo_size_(processor.fifo_.size()),
          store_(processor.store_.data()),
          store_size_(processor.store_.size()) {}
    ~Run() { processor_.state_ = state_; }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    __attribute__((always_inline)) void receive(std::uint64_t sequence) {
      ++state_.received;
      const Handle packet = strategy_.obtain();
      ++state_.allocated;
      const Fields drawn = drawn_fields(processor_.seed_, sequence);
      write_header(layout_.header(packet), drawn);
      if constexpr (kPayload) {
        write_payload(layout_.payload(packet), draw(processor_.payload_seed_, sequence), drawn.length);
      }
      const Handle oldest = fifo_[state_.cursor];
      fifo_[state_.cursor] = packet;
      if (++state_.cursor == fifo_size_) state_.cursor = 0;
      if constexpr (Layout::kPrefetch) prefetch_queued();
      if (oldest != Layout::kNone) process(oldest);
    }

   private:
    __attribute__((always_inline)) void process(Handle packet) {
      if (!has_marker(layout_.header(packet))) {
        ++state_.malformed;
        release(packet);
        return;
      }
      const Fields parsed = parse(packet);
      state_.checksum = fold(state_.checksum, parsed);
      if constexpr (kPayload) {
        const std::uint64_t sum = sum_of_payload(layout_.payload(packet), parsed.length);
        state_.checksum = fold(state_.checksum, sum, parsed.length);
      }
      if (parsed.transport == kTcp) {
        keep(packet);
      } else {
        release(packet);
      }
    }

    __attribute__((always_inline)) Fields parse(Handle packet) {
      try {
        const Fields parsed = layout_.parse(packet);
        ++state_.parsed;
        return parsed;
      } catch (...) {  // out of memory: the packet is in no place any more
        release(packet);
        throw;
      }
    }

    // The store fills in order; then each new packet replaces one that the store's own stream draws.
    __attribute__((always_inline)) void keep(Handle packet) {
      const std::uint64_t ordinal = state_.tcp++;
      if (state_.filled < store_size_) {
        store_[state_.filled++] = packet;
        return;
      }
      const std::size_t slot = replaced_slot(ordinal);
      const Handle evicted = store_[slot];
      store_[slot] = packet;
      ++state_.evicted;
      release(evicted);
      if constexpr (Layout::kPrefetch) prefetch_victims(ordinal);
    }

    std::size_t replaced_slot(std::uint64_t ordinal) const {
      return ((draw(processor_.store_seed_, ordinal) >> 32) * store_size_) >> 32;
    }

    __attribute__((always_inline)) void release(Handle packet) {
      ++state_.freed;
      layout_.release(packet);
      strategy_.give_back(packet);
    }

    // The packet that the FIFO yields kPrefetch packets later.
    __attribute__((always_inline)) void prefetch_queued() {
      if (++state_.ahead == fifo_size_) state_.ahead = 0;
      const Handle soon = fifo_[state_.ahead];
      if (soon != Layout::kNone) prefetch(soon);
    }

    __attribute__((always_inline)) void prefetch(Handle packet) {
      layout_.prefetch(packet);
      if constexpr (kPayload) {
        __builtin_prefetch(layout_.payload(packet), 1);
        __builtin_prefetch(layout_.payload(packet) + kLineBytes, 1);
      }
    }

    // An evicted packet is the next one to be written. Which one that will be is known before: first its place in the
    // store is fetched, one TCP packet later the packet itself. Inlined by force: GCC takes a function that only prefetches
    // for one without effect and drops its calls.
    __attribute__((always_inline)) void prefetch_victims(std::uint64_t ordinal) {
      __builtin_prefetch(&store_[replaced_slot(ordinal + 2)]);
      prefetch(store_[replaced_slot(ordinal + 1)]);
    }

    Processor& processor_;
    Layout& layout_;
    typename Strategy::Run strategy_;
    State state_;
    Handle* const fifo_;
    const std::size_t fifo_size_;
    Handle* const store_;
    const std::size_t store_size_;
  };

  template <bool kPayload>
  void run_on(std::int64_t count) {
    Run<kPayload> run(*this);
    for (std::int64_t i = 0; i < count; ++i) run.receive(next_sequence_ + static_cast<std::uint64_t>(i));
  }

  template <bool kPayload>
  void receive_on(Bursts& bursts) {
    Run<kPayload> run(*this);
    for (Burst burst = bursts.next(); burst.count > 0; burst = bursts.next()) {
      for (std::size_t i = 0; i < burst.count; ++i) run.receive(static_cast<std::uint64_t>(burst.sequences[i]));
    }
  }

  __attribute__((cold)) Counters counters() const {
    Counters counters{};
    ap_packets_counts& counts = counters.counts;
    counts.received = state_.received;
    counts.parsed = state_.parsed;
    counts.tcp = static_cast<std::int64_t>(state_.tcp);
    counts.evicted = state_.evicted;
    counts.allocated = state_.allocated;
    counts.freed = state_.freed;
    counts.constructed = strategy_.constructed();
    counts.discarded = strategy_.discarded();
    const auto walk = [this](const std::vector<Handle>& slots, std::int64_t& found, std::int64_t& parsed) {
      for (const Handle packet : slots) {
        if (packet == Layout::kNone) continue;
        ++found;
        if (layout_.is_parsed(packet)) ++parsed;
      }
    };
    walk(fifo_, counters.queued, counters.queued_parsed);
    walk(store_, counters.stored, counters.stored_parsed);
    counts.live = counters.queued + counters.stored;
    strategy_.each_pooled([&](Handle) { ++counters.pooled; });
    counters.prepared = strategy_.prepared();
    counters.malformed = state_.malformed;
    return counters;
  }

  static Places::Key key_of(Handle packet) {
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<Places::Key>(packet);
    } else {
      return packet;
    }
  }

  std::uintptr_t address_of(Handle packet) const {
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<std::uintptr_t>(packet);
    } else {
      return reinterpret_cast<std::uintptr_t>(layout_.header(packet));
    }
  }

  static Handle handle_of(Places::Key key) {
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<Handle>(key);
    } else {
      return static_cast<Handle>(key);
    }
  }

  __attribute__((cold)) Places places() const {
    Places places;
    const auto add = [&](const char* where, const std::vector<Handle>& slots) {
      for (std::size_t i = 0; i < slots.size(); ++i) {
        if (slots[i] != Layout::kNone) places.add(key_of(slots[i]), where, i);
      }
    };
    add("FIFO", fifo_);
    add("store", store_);
    std::size_t pooled = 0;
    strategy_.each_pooled([&](Handle packet) { places.add(key_of(packet), "pool", pooled++); });
    return places;
  }

  Layout layout_;
  Strategy strategy_;
  std::vector<Handle> fifo_;
  std::vector<Handle> store_;
  State state_;
  const std::uint64_t seed_;
  const std::uint64_t store_seed_;
  const std::uint64_t payload_seed_;
  const bool payload_touch_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace allocpool
