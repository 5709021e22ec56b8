#include "load/generator.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>

#include "load/pattern.hpp"
#include "os/clock.hpp"

namespace allocpool::echo {

namespace {

constexpr std::int64_t kOpeningAtOnce = 256;
constexpr std::int64_t kTimer = -1;
constexpr std::int64_t kInput = -2;

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

}  // namespace

Generator::Generator(const Options& options)
    : options_(options),
      connections_(static_cast<std::size_t>(options.connections)),
      message_(static_cast<std::size_t>(options.message_bytes)),
      incoming_(static_cast<std::size_t>(options.message_bytes)),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
  if (!events_.open() || !timer_.open()) throw std::system_error(errno, std::generic_category(), "epoll or timerfd");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<std::uint64_t>(kTimer);
  epoll_ctl(events_.number(), EPOLL_CTL_ADD, timer_.number(), &event);
}

void Generator::run(int input, const Event& event) {
  epoll_event ended{};
  ended.events = EPOLLIN;
  ended.data.u64 = static_cast<std::uint64_t>(kInput);
  if (epoll_ctl(events_.number(), EPOLL_CTL_ADD, input, &ended) != 0) {
    throw std::system_error(errno, std::generic_category(), "standard input must be a pipe");
  }
  const bool all = connect_all();
  event("connected");
  if (all) {
    sending_ = true;
    load_start_ns_ = os::monotonic_ns();
    load_until(load_start_ns_ + nanoseconds(options_.warmup_seconds));
    tally_.start_ns = os::monotonic_ns();
    tally_.end_ns = tally_.start_ns + nanoseconds(options_.seconds);
    event("measuring");
    neighbour_.start();
    load_until(tally_.end_ns);
    neighbour_.stop();
    send_due(tally_.end_ns - 1);
    drain();
    sending_ = false;
    for (const Connection& connection : connections_) {
      if (connection.state == State::kDead) continue;
      tally_.behind += connection.due - connection.done - (connection.state == State::kWaiting ? 1 : 0);
    }
    drain();  // what was sent while the first went on
    tally_.unanswered = outstanding_;
    event("measured");
    const std::int64_t hold_ns = os::monotonic_ns() + nanoseconds(options_.hold_seconds);
    while (os::monotonic_ns() < hold_ns && wait_until(hold_ns)) {
    }
  }
  connections_.clear();
  event("closed");
}

bool Generator::connect_all() {
  const std::int64_t give_up_ns = os::monotonic_ns() + nanoseconds(options_.connect_seconds);
  std::int64_t next = 0;
  while (tally_.connected + tally_.connect_failed < options_.connections) {
    // A few at a time: a burst beyond the server's backlog would be answered by the kernel's retransmission timer.
    while (next < options_.connections && opening_ < kOpeningAtOnce) open_next(next++);
    if (opening_ == 0) continue;
    if (!wait_until(give_up_ns)) return false;
    if (os::monotonic_ns() >= give_up_ns) {
      if (first_failure_.empty()) first_failure_ = "not all connections were open in time";
      tally_.connect_failed += options_.connections - tally_.connected - tally_.connect_failed;
    }
  }
  return tally_.connect_failed == 0;
}

void Generator::open_next(std::int64_t index) {
  Connection& connection = connections_[static_cast<std::size_t>(index)];
  try {
    const int host = 2 + static_cast<int>(index % options_.addresses);
    connection.socket = connect_from_loopback(host, static_cast<int>(options_.port));
    connection.state = State::kConnecting;
    ++opening_;
    watch(EPOLL_CTL_ADD, index, EPOLLOUT);
  } catch (const std::system_error& error) {
    failed_to_connect(index, error.code().value());
  }
}

void Generator::failed_to_connect(std::int64_t index, int error) {
  Connection& connection = connections_[static_cast<std::size_t>(index)];
  if (connection.state == State::kConnecting) --opening_;
  connection.socket.close();
  connection.state = State::kDead;
  ++tally_.connect_failed;
  if (first_failure_.empty()) first_failure_ = std::generic_category().message(error);
}

void Generator::connected(std::int64_t index) {
  Connection& connection = connections_[static_cast<std::size_t>(index)];
  if (const int error = pending_error(connection.socket); error != 0) {
    failed_to_connect(index, error);
    return;
  }
  --opening_;
  ++tally_.connected;
  connection.state = State::kIdle;
  watch(EPOLL_CTL_MOD, index, EPOLLIN);
}

std::int64_t Generator::due_ns(std::int64_t message) const {
  return load_start_ns_ + static_cast<std::int64_t>(std::llround(static_cast<double>(message) * 1e9 / options_.rate));
}

void Generator::send_due(std::int64_t now_ns) {
  for (;;) {
    const std::int64_t due_at_ns = due_ns(next_message_);
    if (due_at_ns > now_ns) return;
    const std::int64_t index = next_message_++ % options_.connections;
    Connection& connection = connections_[static_cast<std::size_t>(index)];
    if (connection.state == State::kDead) continue;
    ++connection.due;
    if (in_window(due_at_ns)) ++tally_.due;
    if (connection.state == State::kIdle) {
      connection.state = State::kWaiting;
      connection.sent = connection.received = 0;
      ++outstanding_;
      ++tally_.sent;
      send_current(index);
    }
  }
}

void Generator::send_current(std::int64_t index) {
  Connection& connection = connections_[static_cast<std::size_t>(index)];
  write_message(static_cast<std::uint64_t>(options_.seed), static_cast<std::uint64_t>(index),
                static_cast<std::uint64_t>(connection.done), message_.data(), message_.size());
  while (connection.sent < message_.size()) {
    const ssize_t count = send(connection.socket.number(), message_.data() + connection.sent,
                               message_.size() - connection.sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      connection.blocked = true;
      watch(EPOLL_CTL_MOD, index, EPOLLIN | EPOLLOUT);
      return;
    }
    if (count < 0) return give_up(index, &Tally::dropped);
    connection.sent += static_cast<std::size_t>(count);
  }
  if (connection.blocked) watch(EPOLL_CTL_MOD, index, EPOLLIN);
  connection.blocked = false;
}

void Generator::receive(std::int64_t index) {
  Connection& connection = connections_[static_cast<std::size_t>(index)];
  const ssize_t count = recv(connection.socket.number(), incoming_.data(), incoming_.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return give_up(index, &Tally::dropped);
  const auto bytes = static_cast<std::size_t>(count);
  if (connection.state != State::kWaiting || connection.received + bytes > connection.sent) {
    return give_up(index, &Tally::wrong);  // nobody asked for that
  }
  write_message(static_cast<std::uint64_t>(options_.seed), static_cast<std::uint64_t>(index),
                static_cast<std::uint64_t>(connection.done), message_.data(), message_.size());
  if (std::memcmp(message_.data() + connection.received, incoming_.data(), bytes) != 0) {
    return give_up(index, &Tally::wrong);
  }
  connection.received += bytes;
  if (connection.received == message_.size()) completed(index);
}

void Generator::completed(std::int64_t index) {
  Connection& connection = connections_[static_cast<std::size_t>(index)];
  const std::int64_t now_ns = os::monotonic_ns();
  const std::int64_t due = due_ns(connection.done * options_.connections + index);
  ++connection.done;
  ++tally_.echoed;
  if (in_window(due)) {
    ++tally_.measured;
    delays_.record(now_ns - due, 1);
  }
  if (in_window(now_ns)) {
    ++tally_.arrived;
    arrived_delays_.record(now_ns - due, 1);
  }
  if (tally_.start_ns != 0) ++tally_.served;
  --outstanding_;
  connection.state = State::kIdle;
  if (sending_ && connection.done < connection.due) {
    connection.state = State::kWaiting;
    connection.sent = connection.received = 0;
    ++outstanding_;
    ++tally_.sent;
    send_current(index);
  }
}

void Generator::give_up(std::int64_t index, std::int64_t Tally::*count) {
  Connection& connection = connections_[static_cast<std::size_t>(index)];
  if (connection.state == State::kWaiting) {
    // Told once, as the connection that was lost.
    --outstanding_;
  }
  connection.socket.close();
  connection.state = State::kDead;
  ++(tally_.*count);
}

void Generator::load_until(std::int64_t end_ns) {
  for (std::int64_t now_ns = os::monotonic_ns(); now_ns < end_ns; now_ns = os::monotonic_ns()) {
    send_due(now_ns);
    if (!wait_until(std::min(end_ns, due_ns(next_message_)))) return;
  }
}

// Until every echo is back, or its time is over. While `sending_`, what was due and not sent goes out in the meantime.
void Generator::drain() {
  const std::int64_t give_up_ns = os::monotonic_ns() + nanoseconds(options_.drain_seconds);
  while (outstanding_ > 0 && os::monotonic_ns() < give_up_ns && wait_until(give_up_ns)) {
  }
}

// Handles what is ready, waiting for it until `time_ns` at the latest. False when standard input has ended.
bool Generator::wait_until(std::int64_t time_ns) {
  if (input_ended_) return false;
  itimerspec at{};
  at.it_value.tv_sec = time_ns / 1'000'000'000;
  at.it_value.tv_nsec = time_ns % 1'000'000'000;
  timerfd_settime(timer_.number(), TFD_TIMER_ABSTIME, &at, nullptr);
  std::array<epoll_event, 256> ready;
  const int count = epoll_wait(events_.number(), ready.data(), static_cast<int>(ready.size()), -1);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = ready[static_cast<std::size_t>(i)];
    const auto index = static_cast<std::int64_t>(event.data.u64);
    if (index == kInput) {
      input_ended_ = true;
    } else if (index != kTimer) {  // setting a timer anew makes it quiet again
      handle(index, event.events);
    }
  }
  return !input_ended_;
}

void Generator::handle(std::int64_t index, std::uint32_t events) {
  const Connection& connection = connections_[static_cast<std::size_t>(index)];
  if (connection.state == State::kConnecting) return connected(index);
  if ((events & EPOLLOUT) != 0 && connection.state == State::kWaiting) send_current(index);
  if ((events & ~EPOLLOUT) != 0 && connection.state != State::kDead) receive(index);
}

void Generator::watch(int operation, std::int64_t index, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<std::uint64_t>(index);
  const int number = connections_[static_cast<std::size_t>(index)].socket.number();
  if (epoll_ctl(events_.number(), operation, number, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

}  // namespace allocpool::echo
