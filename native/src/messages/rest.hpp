// The rest of the program, on a thread of its own as in a program: a table of linked objects, of which some are replaced, and
// garbage of the same kind.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "messages/message.hpp"
#include "messages/settings.hpp"
#include "os/clock.hpp"
#include "os/thread.hpp"

namespace allocpool::messages {

class Rest {
 public:
  explicit Rest(const Settings& settings)
      : live_(static_cast<std::size_t>(std::llround(settings.number("live_mb") * kChainsPerMb))),
        changed_per_ns_(settings.number("changed_mb_per_s") * kChainsPerMb / 1e9),
        made_per_ns_(settings.number("garbage_mb_per_s") * kChainsPerMb / 1e9),
        seed_(static_cast<std::uint64_t>(settings.whole("seed"))) {
    for (Node*& first : live_) first = chain(0);
  }

  ~Rest() {
    end();
    for (Node* const first : live_) drop(first);
  }
  Rest(const Rest&) = delete;
  Rest& operator=(const Rest&) = delete;

  // Begins to change and to make garbage; nothing where none of it was asked for.
  void start() {
    if (thread_.joinable() || (changed_per_ns_ == 0 && made_per_ns_ == 0)) return;
    runs_.store(true);
    thread_ = std::thread([this] { live(); });
  }

  // Ends what was begun. Rethrows what ended it before.
  void stop() {
    end();
    if (failure_) std::rethrow_exception(failure_);
  }

  std::int64_t changed_bytes() const { return changed_.load() * kChainBytes; }
  std::int64_t garbage_bytes() const { return made_.load() * kChainBytes; }

 private:
  static constexpr int kChain = 16;
  static constexpr double kChainsPerMb = 1024;
  static constexpr std::int64_t kChainBytes = 1024;

  struct Node {
    Node* next;
    std::uint64_t values[7];
  };
  static_assert(sizeof(Node) * kChain == kChainBytes);

  static Node* chain(std::uint64_t value) {
    Node* first = nullptr;
    for (int i = 0; i < kChain; ++i) first = new Node{first, {value, value, value, value, value, value, value}};
    return first;
  }

  static void drop(Node* first) {
    while (first != nullptr) {
      Node* const next = first->next;
      delete first;
      first = next;
    }
  }

  void end() {
    runs_.store(false);
    if (thread_.joinable()) thread_.join();
  }

  void live() {
    os::name_this_thread("allocpool-rest");
    const std::int64_t start_ns = os::monotonic_ns();
    try {
      while (runs_.load()) {
        const auto passed_ns = static_cast<double>(os::monotonic_ns() - start_ns);
        for (const auto owed = static_cast<std::int64_t>(passed_ns * changed_per_ns_); changed_.load() < owed; ++changed_) {
          Node*& first = live_[place_of(draw(seed_, static_cast<std::uint64_t>(changed_.load())), live_.size())];
          drop(first);
          first = nullptr;
          first = chain(static_cast<std::uint64_t>(changed_.load()));
        }
        for (const auto owed = static_cast<std::int64_t>(passed_ns * made_per_ns_); made_.load() < owed; ++made_) {
          drop(chain(static_cast<std::uint64_t>(made_.load())));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  std::vector<Node*> live_;
  const double changed_per_ns_;
  const double made_per_ns_;
  const std::uint64_t seed_;
  std::atomic<bool> runs_{false};
  std::atomic<std::int64_t> changed_{0};
  std::atomic<std::int64_t> made_{0};
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace allocpool::messages
