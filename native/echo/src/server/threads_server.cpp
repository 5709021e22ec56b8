// One thread per connection: its buffer is on the thread's stack.
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>

#include "net.hpp"
#include "server/lines.hpp"
#include "server/server.hpp"

namespace allocpool::echo {

namespace {

constexpr std::size_t kLargestMessage = 65'536;

class ThreadsServer final : public Server {
 public:
  ThreadsServer(int port, std::size_t message_bytes)
      : listener_(listen_on_loopback(port, false)),
        port_(port_of(listener_)),
        stop_(make_wake_up()),
        message_bytes_(message_bytes),
        acceptor_([this] { accept_until_stopped(); }) {}

  ~ThreadsServer() override {
    wake_up(stop_);
    acceptor_.join();
    std::unique_lock lock(mutex_);
    // A thread removes its connection, under the lock, before it closes it: no number here belongs to anyone else.
    for (const int connection : connections_) shutdown(connection, SHUT_RDWR);
    all_ended_.wait(lock, [this] { return running_ == 0; });
  }

  int port() const override { return port_; }

 private:
  void accept_until_stopped() {
    pollfd waited[] = {{listener_.number(), POLLIN, 0}, {stop_.number(), POLLIN, 0}};
    for (;;) {
      if (poll(waited, 2, -1) < 0) continue;
      if (waited[1].revents != 0) return;
      Descriptor connection(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
      if (connection.open()) {
        start(std::move(connection));
      } else if (errno != EAGAIN && errno != EINTR) {
        // No descriptor left: one that is given back mends it, a loop without a pause does not.
        ++counts_.refused;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
  }

  void start(Descriptor connection) {
    ++counts_.accepted;
    const int number = connection.number();
    {
      const std::lock_guard lock(mutex_);
      connections_.insert(number);
      ++running_;
    }
    try {
      send_at_once(connection);
      std::thread([this, number] { serve(number); }).detach();
      connection.release();
    } catch (const std::system_error&) {
      ++counts_.refused;
      leave(number);
    }
  }

  void serve(int number) {
    Descriptor connection(number);
    char memory[kLargestMessage];
    Lines lines(memory, message_bytes_);
    for (;;) {
      const ssize_t count = recv(number, lines.end(), lines.room(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      const std::size_t whole = lines.append(static_cast<std::size_t>(count));
      if (whole == 0) {
        if (!lines.oversize()) continue;
        ++counts_.oversize;
        break;
      }
      if (!send_all(number, lines.begin(), whole)) break;
      counts_.messages += static_cast<std::int64_t>(lines.messages(whole));
      lines.take(whole);
    }
    forget(number);
    connection.close();
    ended();
  }

  static bool send_all(int connection, const char* bytes, std::size_t count) {
    while (count > 0) {
      const ssize_t sent = send(connection, bytes, count, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      bytes += sent;
      count -= static_cast<std::size_t>(sent);
    }
    return true;
  }

  void leave(int number) {
    forget(number);
    ended();
  }

  void forget(int number) {
    const std::lock_guard lock(mutex_);
    connections_.erase(number);
  }

  void ended() {
    ++counts_.closed;
    const std::lock_guard lock(mutex_);
    // Told under the lock: the server may be gone as soon as it is free.
    if (--running_ == 0) all_ended_.notify_all();
  }

  Descriptor listener_;
  int port_;
  Descriptor stop_;
  std::size_t message_bytes_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  std::unordered_set<int> connections_;
  std::int64_t running_ = 0;
  std::thread acceptor_;
};

}  // namespace

std::unique_ptr<Server> start_threads_server(int port, std::size_t message_bytes) {
  return std::make_unique<ThreadsServer>(port, message_bytes);
}

}  // namespace allocpool::echo
