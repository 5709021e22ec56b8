// One thread for all connections, each with its buffer on the heap.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "net.hpp"
#include "server/lines.hpp"
#include "server/server.hpp"

namespace allocpool::echo {

namespace {

struct Connection {
  Connection(Descriptor socket_, std::size_t message_bytes)
      : socket(std::move(socket_)), memory(new char[message_bytes]), lines(memory.get(), message_bytes) {}

  Descriptor socket;
  std::unique_ptr<char[]> memory;
  Lines lines;
  std::size_t whole = 0;  // bytes of whole messages that are being echoed
  std::size_t sent = 0;   // of these
  bool blocked = false;   // the client does not read
};

class EpollServer final : public Server {
 public:
  EpollServer(int port, std::size_t message_bytes)
      : listener_(listen_on_loopback(port, false)),
        port_(port_of(listener_)),
        stop_(make_wake_up()),
        events_(epoll_create1(EPOLL_CLOEXEC)),
        message_bytes_(message_bytes) {
    if (!events_.open()) throw std::system_error(errno, std::generic_category(), "epoll_create1");
    watch(EPOLL_CTL_ADD, listener_.number(), EPOLLIN);
    watch(EPOLL_CTL_ADD, stop_.number(), EPOLLIN);
    loop_ = std::thread([this] { run(); });
  }

  ~EpollServer() override {
    wake_up(stop_);
    loop_.join();
  }

  int port() const override { return port_; }

 private:
  void run() {
    std::array<epoll_event, 256> ready;
    for (;;) {
      const int count = epoll_wait(events_.number(), ready.data(), static_cast<int>(ready.size()), -1);
      for (int i = 0; i < count; ++i) {
        const int number = ready[static_cast<std::size_t>(i)].data.fd;
        if (number == stop_.number()) return;
        if (number == listener_.number()) {
          accept_all();
        } else if (const auto found = connections_.find(number); found != connections_.end()) {
          if (!go_on(*found->second)) {
            ++counts_.closed;
            connections_.erase(found);
          }
        }
      }
    }
  }

  void accept_all() {
    for (;;) {
      Descriptor socket(accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket.open()) {
        if (errno != EAGAIN && errno != EINTR) {
          // No descriptor left: the connection stays in the kernel's queue until one is given back.
          ++counts_.refused;
          const timespec pause{0, 10'000'000};
          nanosleep(&pause, nullptr);
        }
        return;
      }
      ++counts_.accepted;
      send_at_once(socket);
      const int number = socket.number();
      watch(EPOLL_CTL_ADD, number, EPOLLIN);
      connections_.emplace(number, std::make_unique<Connection>(std::move(socket), message_bytes_));
    }
  }

  // Does what the connection is ready for. False when it has ended.
  bool go_on(Connection& connection) {
    if (connection.whole == 0) {
      const ssize_t count = recv(connection.socket.number(), connection.lines.end(), connection.lines.room(), 0);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      if (count == 0) return false;
      connection.whole = connection.lines.append(static_cast<std::size_t>(count));
      if (connection.whole == 0) {
        if (connection.lines.oversize()) ++counts_.oversize;
        return !connection.lines.oversize();
      }
    }
    return send_rest(connection);
  }

  // While an echo waits for the client to read, nothing more is read from it.
  bool send_rest(Connection& connection) {
    while (connection.sent < connection.whole) {
      const ssize_t count = send(connection.socket.number(), connection.lines.begin() + connection.sent,
                                 connection.whole - connection.sent, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) {
        watch(EPOLL_CTL_MOD, connection.socket.number(), EPOLLOUT);
        connection.blocked = true;
        return true;
      }
      if (count <= 0) return false;
      connection.sent += static_cast<std::size_t>(count);
    }
    counts_.messages += static_cast<std::int64_t>(connection.lines.messages(connection.whole));
    connection.lines.take(connection.whole);
    connection.whole = connection.sent = 0;
    if (connection.blocked) watch(EPOLL_CTL_MOD, connection.socket.number(), EPOLLIN);
    connection.blocked = false;
    return true;
  }

  void watch(int operation, int number, std::uint32_t what) {
    epoll_event event{};
    event.events = what;
    event.data.fd = number;
    if (epoll_ctl(events_.number(), operation, number, &event) != 0) {
      throw std::system_error(errno, std::generic_category(), "epoll_ctl");
    }
  }

  Descriptor listener_;
  int port_;
  Descriptor stop_;
  Descriptor events_;
  std::size_t message_bytes_;
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;
  std::thread loop_;
};

}  // namespace

std::unique_ptr<Server> start_epoll_server(int port, std::size_t message_bytes) {
  return std::make_unique<EpollServer>(port, message_bytes);
}

}  // namespace allocpool::echo
