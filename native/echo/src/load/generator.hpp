// Opens connections to an echo server, keeps them active at a fixed rate, and checks every byte that comes back.
//
// Open loop: message k of the run is due at start + k / rate, on connection k mod connections, whether or not the server
// keeps up. Delays are counted from that instant, so a server that stalls is not spared the messages that it held up
// (the coordinated omission of closed loops; Tene, "How NOT to measure latency"). A message belongs to the counted window
// by the instant when it was due, whenever its echo came: those that were due and not sent in time are sent while
// draining.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "load/neighbour.hpp"
#include "load/options.hpp"
#include "net.hpp"
#include "realtime/histogram.hpp"

namespace allocpool::echo {

// What went on, over the whole run except where noted.
struct Tally {
  std::int64_t connected = 0;
  std::int64_t connect_failed = 0;
  std::int64_t sent = 0;        // messages
  std::int64_t echoed = 0;      // of these, back whole and right
  std::int64_t wrong = 0;       // messages with a byte that was not sent, or one too many: their connection is given up
  std::int64_t dropped = 0;     // connections that the server closed
  std::int64_t unanswered = 0;  // messages sent and not back when draining ended
  std::int64_t behind = 0;      // messages due before the end and never sent, their connection waiting for an echo still
  std::int64_t due = 0;         // messages due in the counted window
  std::int64_t measured = 0;    // of these, echoed, while draining too: those that have a delay
  std::int64_t arrived = 0;     // echoes that came in the counted window, whenever they were due
  std::int64_t served = 0;      // echoes from its start to the end of draining
  std::int64_t start_ns = 0;    // of the counted window, CLOCK_MONOTONIC
  std::int64_t end_ns = 0;

  std::int64_t errors() const { return connect_failed + wrong + dropped + unanswered; }
};

class Generator {
 public:
  // Called at "connected", "measuring", "measured" and "closed".
  using Event = std::function<void(const char* name)>;

  explicit Generator(const Options& options);

  // The whole run; ends early when standard input (descriptor `input`) ends before the connections are held.
  void run(int input, const Event& event);

  const Tally& tally() const { return tally_; }
  // Of the messages due in the counted window.
  const realtime::DelayHistogram& delays() const { return delays_; }
  // Of the echoes that came in it: what choosing by arrival shows.
  const realtime::DelayHistogram& arrived_delays() const { return arrived_delays_; }
  const Neighbour& neighbour() const { return neighbour_; }
  // Why the first of the failed connections failed; empty when none did.
  const std::string& first_failure() const { return first_failure_; }

 private:
  enum class State : std::uint8_t { kConnecting, kIdle, kWaiting, kDead };

  struct Connection {
    Descriptor socket;
    State state = State::kDead;
    bool blocked = false;         // waits to send
    std::int64_t due = 0;         // messages that should have been sent
    std::int64_t done = 0;        // messages echoed
    std::size_t sent = 0;         // bytes of the current message
    std::size_t received = 0;
  };

  bool connect_all();
  void open_next(std::int64_t index);
  void connected(std::int64_t index);
  void send_due(std::int64_t now_ns);
  void send_current(std::int64_t index);
  void receive(std::int64_t index);
  void completed(std::int64_t index);
  void give_up(std::int64_t index, std::int64_t Tally::*count);
  void failed_to_connect(std::int64_t index, int error);
  bool wait_until(std::int64_t time_ns);
  void handle(std::int64_t index, std::uint32_t events);
  void load_until(std::int64_t end_ns);
  void drain();
  bool in_window(std::int64_t time_ns) const {
    return tally_.start_ns != 0 && time_ns >= tally_.start_ns && time_ns < tally_.end_ns;
  }
  void watch(int operation, std::int64_t index, std::uint32_t events);
  std::int64_t due_ns(std::int64_t message) const;

  Options options_;
  Tally tally_;
  realtime::DelayHistogram delays_;
  realtime::DelayHistogram arrived_delays_;
  Neighbour neighbour_;
  std::vector<Connection> connections_;
  std::vector<char> message_;
  std::vector<char> incoming_;
  Descriptor events_;
  Descriptor timer_;
  std::string first_failure_;
  std::int64_t opening_ = 0;      // connections on their way
  std::int64_t outstanding_ = 0;  // messages on their way
  std::int64_t next_message_ = 0;
  std::int64_t load_start_ns_ = 0;
  bool sending_ = false;
  bool input_ended_ = false;
};

}  // namespace allocpool::echo
