// The strategies: where messages come from and go to.
//
// What a source has: a constructor that takes settings; obtain and free, with the thread's counters; each_free, which visits all
// free messages when the threads rest; prepared, the messages made before the start, and held_bytes, of those.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <vector>

#include "messages/message.hpp"
#include "messages/settings.hpp"

namespace allocpool::messages {

// What one thread counts; two cache lines away from what another one does.
struct alignas(128) Counters {
  std::size_t thread = 0;
  std::int64_t due = 0;
  std::int64_t received = 0;
  std::int64_t lost = 0;
  std::int64_t read = 0;
  std::int64_t kept = 0;
  std::int64_t evicted = 0;
  std::int64_t obtained = 0;
  std::int64_t freed = 0;
  std::int64_t constructed = 0;
  std::int64_t discarded = 0;
  std::int64_t wasted_bytes = 0;    // of messages in use, what lies beyond them in their buffers
  std::int64_t held_bytes = 0;      // of messages made and not dropped, beyond those prepared
  std::uint64_t sum = 0;            // over what was read
  std::uint64_t expected_sum = 0;   // the same of what was written
  std::uint64_t store_sum = 0;      // of the numbers in the store, by what came and went
  std::uint64_t unchecked = 0;      // keeps reading what nobody wrote from being skipped
};

// `alloc`: a fresh message each time, as long as it must be.
class Alloc {
 public:
  explicit Alloc(const Settings&) {}

  Message* obtain(std::int64_t length, Counters& counters) {
    ++counters.constructed;
    return Message::make(length);
  }

  void free(Message* message, Counters& counters) {
    ++counters.discarded;
    Message::drop(message);
  }

  template <class Visit>
  void each_free(Visit) const {}
  static std::int64_t prepared() { return 0; }
  static std::int64_t held_bytes() { return 0; }
};

// `pool` and `mix`: a stack of free messages for each size class. Where one is empty a message is made; a pool keeps it when
// it comes back, a mix only while there are fewer free ones than at the start.
class Pool {
 public:
  explicit Pool(const Settings& settings)
      : capacities_(settings.wholes("capacities")),
        zeroing_(settings.is_on("zeroing")),
        is_shared_(settings.whole("threads") > 1) {
    const std::vector<std::int64_t> counts = settings.wholes("prepared");
    const bool grows = settings.text("strategy") == "pool";
    const auto seed = static_cast<std::uint64_t>(settings.whole("seed"));
    if (counts.size() != capacities_.size()) throw UserError("prepared and capacities differ in number");
    stacks_.resize(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      stacks_[i].reserve(static_cast<std::size_t>(counts[i]));
      for (std::int64_t k = 0; k < counts[i]; ++k) stacks_[i].push_back(Message::make(capacities_[i]));
      shuffle(stacks_[i], seed + i);
      held_bytes_ += counts[i] * capacities_[i];
      limits_.push_back(grows ? std::numeric_limits<std::size_t>::max() : stacks_[i].size());
    }
    prepared_ = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  }

  Message* obtain(std::int64_t length, Counters& counters) {
    const std::size_t number = class_of(length);
    Message* message = nullptr;
    {
      const auto lock = locked();
      std::vector<Message*>& stack = stacks_[number];
      if (!stack.empty()) {
        message = stack.back();
        stack.pop_back();
      }
    }
    if (message == nullptr) {
      ++counters.constructed;
      counters.held_bytes += capacities_[number];
      return Message::make(capacities_[number]);
    }
    if (zeroing_) message->clear(length);
    return message;
  }

  void free(Message* message, Counters& counters) {
    const std::size_t number = class_of(message->capacity);
    {
      const auto lock = locked();
      std::vector<Message*>& stack = stacks_[number];
      if (stack.size() < limits_[number]) {
        stack.push_back(message);
        return;
      }
    }
    ++counters.discarded;
    counters.held_bytes -= message->capacity;
    Message::drop(message);
  }

  template <class Visit>
  void each_free(Visit visit) const {
    for (const std::vector<Message*>& stack : stacks_) {
      for (Message* const message : stack) visit(message);
    }
  }

  std::int64_t prepared() const { return prepared_; }
  std::int64_t held_bytes() const { return held_bytes_; }

 private:
  // One thread needs none.
  std::unique_lock<std::mutex> locked() {
    return is_shared_ ? std::unique_lock<std::mutex>(mutex_) : std::unique_lock<std::mutex>();
  }

  // The smallest class that is long enough.
  std::size_t class_of(std::int64_t length) const {
    return static_cast<std::size_t>(std::lower_bound(capacities_.begin(), capacities_.end() - 1, length) -
                                    capacities_.begin());
  }

  // Free messages of a program that has run for long lie in no order.
  static void shuffle(std::vector<Message*>& stack, std::uint64_t seed) {
    for (std::size_t i = stack.size(); i > 1; --i) {
      std::swap(stack[i - 1], stack[place_of(draw(seed, i - 1), i)]);
    }
  }

  const std::vector<std::int64_t> capacities_;
  const bool zeroing_;
  const bool is_shared_;
  std::mutex mutex_;
  std::vector<std::vector<Message*>> stacks_;
  std::vector<std::size_t> limits_;
  std::int64_t prepared_ = 0;
  std::int64_t held_bytes_ = 0;
};

// `reuse`: one message per thread, long enough for all.
class Reuse {
 public:
  explicit Reuse(const Settings& settings)
      : capacity_(settings.wholes("capacities").back()),
        zeroing_(settings.is_on("zeroing")),
        own_(settings.count("threads")) {
    for (Message*& message : own_) message = Message::make(capacity_);
  }

  Message* obtain(std::int64_t length, Counters& counters) {
    Message* const message = own_[counters.thread];
    if (zeroing_) message->clear(length);
    return message;
  }

  void free(Message*, Counters&) {}

  template <class Visit>
  void each_free(Visit visit) const {
    for (Message* const message : own_) visit(message);
  }
  std::int64_t prepared() const { return static_cast<std::int64_t>(own_.size()); }
  std::int64_t held_bytes() const { return prepared() * capacity_; }

 private:
  const std::int64_t capacity_;
  const bool zeroing_;
  std::vector<Message*> own_;
};

}  // namespace allocpool::messages
