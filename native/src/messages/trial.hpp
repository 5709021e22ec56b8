// A trial of messages: its threads, the strategy between them, the rest of the program, and the counters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "allocpool.h"
#include "messages/loop.hpp"
#include "messages/rest.hpp"
#include "messages/settings.hpp"
#include "messages/sizes.hpp"
#include "threads/team.hpp"
#include "threads/idle.hpp"

namespace allocpool::messages {

// What the outside knows of a trial, whatever its strategy.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual void run(std::int64_t messages) = 0;
  virtual void run_for(std::int64_t start_ns, std::int64_t length_ns) = 0;
  virtual void rest(bool runs) = 0;
  virtual void drain() = 0;
  virtual ap_messages_counts counts() const = 0;
  virtual std::uint64_t checksum() const = 0;
  // (nanoseconds, messages) of the last window with due times, the shortest first.
  virtual std::vector<std::pair<std::int64_t, std::int64_t>> delays() const = 0;
  // Empty, or one line that says what is wrong. After drain.
  [[nodiscard]] virtual std::string audit() const = 0;
};

// Throws UserError when a setting is missing or unknown. The trace stays the caller's, and must outlive the workload.
[[nodiscard]] std::unique_ptr<Workload> make_workload(std::string_view settings, const void* trace,
                                                      std::size_t trace_bytes);

template <class Source>
class Trial final : public Workload {
 public:
  Trial(const Settings& settings, const void* trace, std::size_t trace_bytes)
      : settings_(settings),
        sizes_(settings_, trace, trace_bytes),
        source_(settings_),
        rest_(settings_),
        team_(static_cast<int>(settings_.count("threads")), stop_) {
    loops_.resize(settings_.count("threads"));
    team_.run([this](int k) {
      const auto thread = static_cast<std::size_t>(k);
      loops_[thread] = std::make_unique<Loop<Source>>(settings_, source_, sizes_, thread);
    });
  }

  ~Trial() override {
    // Each once, even where a source that cheats has one in two places.
    std::unordered_set<Message*> all;
    const auto add = [&](Message* message) { all.insert(message); };
    for (const auto& loop : loops_) {
      if (!loop) continue;
      loop->each_in_flight(add);
      loop->each_stored(add);
    }
    source_.each_free(add);
    for (Message* const message : all) Message::drop(message);
  }

  void run(std::int64_t messages) override {
    numbered_ += static_cast<std::uint64_t>(messages);
    team_.run([this](int k) { loop(k).run(numbered_); });
  }

  void run_for(std::int64_t start_ns, std::int64_t length_ns) override {
    team_.run([=](int k) { loop(k).run_for(start_ns, length_ns); });
  }

  void rest(bool runs) override {
    if (runs) {
      rest_.start();
    } else {
      rest_.stop();
    }
  }

  void drain() override {
    team_.run([this](int k) { loop(k).drain(); });
  }

  ap_messages_counts counts() const override {
    ap_messages_counts counts{};
    for (const auto& loop : loops_) {
      const Counters& counters = loop->counters;
      counts.generated += counters.due;
      counts.received += counters.received;
      counts.lost += counters.lost;
      counts.read += counters.read;
      counts.kept += counters.kept;
      counts.evicted += counters.evicted;
      counts.obtained += counters.obtained;
      counts.freed += counters.freed;
      counts.constructed += counters.constructed;
      counts.discarded += counters.discarded;
      counts.wasted_bytes += counters.wasted_bytes;
      counts.pool_bytes += counters.held_bytes;
      loop->each_in_flight([&](Message*) { ++counts.in_flight; });
      loop->each_stored([&](Message*) { ++counts.in_store; });
    }
    counts.prepared = source_.prepared();
    counts.pool_bytes += source_.held_bytes();
    source_.each_free([&](Message*) { ++counts.pooled; });
    counts.changed_bytes = rest_.changed_bytes();
    counts.garbage_bytes = rest_.garbage_bytes();
    return counts;
  }

  std::uint64_t checksum() const override {
    std::uint64_t sum = 0;
    for (const auto& loop : loops_) sum += loop->counters.sum;
    return sum;
  }

  std::vector<std::pair<std::int64_t, std::int64_t>> delays() const override {
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (std::size_t i = 0; i < realtime::DelayHistogram::kCounts; ++i) {
      std::int64_t count = 0;
      for (const auto& loop : loops_) count += loop->delays.counts()[i];
      if (count > 0) pairs.emplace_back(realtime::DelayHistogram::highest_ns(i), count);
    }
    return pairs;
  }

  std::string audit() const override {
    std::unordered_set<const Message*> seen;
    std::string fault;
    const auto require = [&](bool holds, const std::string& otherwise) {
      if (!holds && fault.empty()) fault = otherwise;
    };
    const auto equal = [&](const char* what, std::int64_t actual, std::int64_t expected) {
      require(actual == expected,
              std::string(what) + ": " + std::to_string(actual) + ", expected " + std::to_string(expected));
    };
    std::uint64_t numbers = 0;
    std::uint64_t expected_numbers = 0;
    std::uint64_t expected_sum = 0;
    for (const auto& loop : loops_) {
      loop->each_stored([&](Message* message) {
        require(seen.insert(message).second, "a message in a store is in another place too");
        numbers += message->word(0);
      });
      expected_numbers += loop->counters.store_sum;
      expected_sum += loop->counters.expected_sum;
    }
    const auto stored = static_cast<std::int64_t>(seen.size());
    source_.each_free([&](Message* message) {
      require(seen.insert(message).second, "a free message is in another place too: it was freed twice");
    });
    const ap_messages_counts now = counts();
    equal("messages received", now.received, now.generated - now.lost);
    equal("messages read", now.read, now.received);
    equal("messages obtained", now.obtained, now.received);
    equal("messages in stores", stored, now.kept - now.evicted);
    equal("messages freed", now.freed, now.obtained - stored);
    require(checksum() == expected_sum,
            "what was read is not what was written: a message was handed out while it was in flight");
    require(numbers == expected_numbers, "a message in a store, or one that left it, was written to while it was there");
    equal("messages in stores and pools", static_cast<std::int64_t>(seen.size()),
          now.prepared + now.constructed - now.discarded);
    return fault;
  }

 private:
  Loop<Source>& loop(int k) { return *loops_[static_cast<std::size_t>(k)]; }

  const Settings settings_;
  const Sizes sizes_;
  Source source_;
  Rest rest_;
  threads::Stop stop_;
  std::vector<std::unique_ptr<Loop<Source>>> loops_;
  std::uint64_t numbered_ = 0;
  threads::Team team_;  // last: its threads use all the others
};

}  // namespace allocpool::messages
