// One thread's part: its messages, those of them in flight, and its store. Nothing is allocated but by the strategy, and what
// reading a message makes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "messages/arrivals.hpp"
#include "messages/message.hpp"
#include "messages/settings.hpp"
#include "messages/sizes.hpp"
#include "messages/sources.hpp"
#include "os/clock.hpp"
#include "realtime/histogram.hpp"

namespace allocpool::messages {

template <class Source>
class Loop {
 public:
  Loop(const Settings& settings, Source& source, const Sizes& sizes, std::size_t thread)
      : settings_(settings),
        source_(source),
        sizes_(sizes),
        thread_(thread),
        threads_(settings.count("threads")),
        filled_share_(settings.number("filled_share")),
        read_share_(settings.number("read_share")),
        kept_share_(settings.number("kept_share")),
        replaces_oldest_(settings.text("replacement") == "oldest"),
        keep_seed_(static_cast<std::uint64_t>(settings.whole("seed")) ^ kKeepFlip),
        tolerated_ns_(settings.whole("delay_ns")),
        temporaries_(settings.whole("temporaries")),
        temporary_bytes_(std::max(sizeof(void*), settings.count("temporary_length"))),
        queue_(settings.count("in_flight") / threads_),
        store_(settings.count("kept_count") / threads_) {
    counters.thread = thread;
  }

  // Handles this thread's messages before that number, as fast as it goes.
  void run(std::uint64_t before) {
    for (std::uint64_t number = next_number(); number < before; number = next_number()) {
      ++next_;
      ++counters.due;
      handle(number);
    }
  }

  // Handles the messages that are due in so many nanoseconds from a time on, or loses them.
  void run_for(std::int64_t start_ns, std::int64_t length_ns) {
    delays.clear();
    Arrivals arrivals(settings_, sizes_, thread_, next_number(), windows_++);
    std::int64_t now_ns = os::monotonic_ns();
    while (true) {
      const double from_start_ns = arrivals.next_ns();
      if (from_start_ns >= static_cast<double>(length_ns)) return;
      const std::int64_t due_ns = start_ns + static_cast<std::int64_t>(from_start_ns);
      while (now_ns < due_ns) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(std::max(kNapNs, due_ns - now_ns)));
        now_ns = os::monotonic_ns();
      }
      const std::uint64_t number = next_number();
      ++next_;
      ++counters.due;
      if (now_ns - due_ns > tolerated_ns_) {
        ++counters.lost;
        continue;
      }
      handle(number);
      now_ns = os::monotonic_ns();
      delays.record(now_ns - due_ns, 1);
    }
  }

  // Reads all that is in flight, the oldest first.
  void drain() {
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      Message* const oldest = queue_[queue_place_];
      queue_[queue_place_] = nullptr;
      queue_place_ = queue_place_ + 1 == queue_.size() ? 0 : queue_place_ + 1;
      if (oldest != nullptr) leave(oldest);
    }
  }

  template <class Visit>
  void each_in_flight(Visit visit) const {
    for (Message* const message : queue_) {
      if (message != nullptr) visit(message);
    }
  }

  template <class Visit>
  void each_stored(Visit visit) const {
    for (Message* const message : store_) {
      if (message != nullptr) visit(message);
    }
  }

  Counters counters;
  realtime::DelayHistogram delays;

 private:
  // The shortest sleep: a thread that sleeps for less costs more than the messages that come in the meantime.
  static constexpr std::int64_t kNapNs = 100'000;
  static constexpr std::uint64_t kKeepFlip = 0x4B45'4550ULL;

  std::uint64_t next_number() const { return next_ * threads_ + thread_; }

  void handle(std::uint64_t number) {
    ++counters.received;
    const std::uint64_t drawn = sizes_.drawn(number);
    const std::int64_t length = sizes_.length(number, drawn);
    const std::uint64_t key = sizes_.key(number, drawn);
    Message* const message = source_.obtain(length, counters);
    ++counters.obtained;
    counters.wasted_bytes += message->capacity - length;
    message->length = length;
    message->fill(number, key, touched(length, filled_share_));
    counters.expected_sum += hash(number, sum_of(key, checked(length)), length);
    if (queue_.empty()) {
      leave(message);
      return;
    }
    Message* const oldest = queue_[queue_place_];
    queue_[queue_place_] = message;
    queue_place_ = queue_place_ + 1 == queue_.size() ? 0 : queue_place_ + 1;
    if (oldest != nullptr) leave(oldest);
  }

  // A message has been in flight: it is read, and kept or freed; what reading makes is dropped with it.
  void leave(Message* message) {
    const std::uint64_t number = message->word(0);
    const std::int64_t same = checked(message->length);
    counters.sum += hash(number, message->sum(1, same), message->length);
    ++counters.read;
    const std::int64_t read = touched(message->length, read_share_);
    if (read > same) counters.unchecked += message->sum(same, read);
    for (std::int64_t i = 0; i < temporaries_; ++i) message->add_result(temporary_bytes_);
    if (store_.empty()) {
      release(message);
    } else {
      keep(message, number);
    }
  }

  // Until the store is full everything is kept.
  void keep(Message* message, std::uint64_t number) {
    std::size_t place;
    if (stored_ < store_.size()) {
      place = stored_++;
    } else {
      const std::uint64_t drawn = draw(keep_seed_, number);
      if (unit(drawn) >= kept_share_) {
        release(message);
        return;
      }
      if (replaces_oldest_) {
        place = store_place_;
        store_place_ = store_place_ + 1 == store_.size() ? 0 : store_place_ + 1;
      } else {
        place = place_of(draw(drawn, 0), store_.size());
      }
    }
    Message* const replaced = store_[place];
    store_[place] = message;
    counters.store_sum += number;
    ++counters.kept;
    if (replaced != nullptr) {
      // The number that is in the buffer now: had another been given it since, the sums would differ.
      counters.store_sum -= replaced->word(0);
      ++counters.evicted;
      release(replaced);
    }
  }

  void release(Message* message) {
    ++counters.freed;
    counters.wasted_bytes -= message->capacity - message->length;
    message->drop_results();
    source_.free(message, counters);
  }

  // Words that are both written and read.
  std::int64_t checked(std::int64_t length) const { return touched(length, std::min(filled_share_, read_share_)); }

  const Settings& settings_;
  Source& source_;
  const Sizes& sizes_;
  const std::size_t thread_;
  const std::size_t threads_;
  const double filled_share_;
  const double read_share_;
  const double kept_share_;
  const bool replaces_oldest_;
  const std::uint64_t keep_seed_;
  const std::int64_t tolerated_ns_;
  const std::int64_t temporaries_;
  const std::size_t temporary_bytes_;
  std::vector<Message*> queue_;
  std::vector<Message*> store_;
  std::size_t queue_place_ = 0;
  std::size_t store_place_ = 0;
  std::size_t stored_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t windows_ = 0;
};

}  // namespace allocpool::messages
