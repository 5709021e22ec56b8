// Sockets on the loopback interface, closed by their owners.
#pragma once

#include <cstdint>
#include <utility>

namespace allocpool::echo {

// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void close();
  // Leaves closing to someone else.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// A socket that listens on 127.0.0.1; throws UserError when the port is taken.
Descriptor listen_on_loopback(int port, bool blocking);

// The port of a listening socket.
int port_of(const Descriptor& listener);

// A non-blocking socket on its way from 127.0.0.`host` to 127.0.0.1:`port`. Throws std::system_error.
Descriptor connect_from_loopback(int host, int port);

// What a failed connect has left on the socket: 0 when it succeeded, else errno.
int pending_error(const Descriptor& socket);

// A small message must not wait for the acknowledgement of the one before (Nagle's algorithm, RFC 896).
void send_at_once(const Descriptor& socket);

// An eventfd: one thread wakes another that waits in poll or epoll.
Descriptor make_wake_up();
void wake_up(const Descriptor& event);

}  // namespace allocpool::echo
