#include "net.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "user_error.hpp"

namespace allocpool::echo {

namespace {

constexpr int kBacklog = 4096;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

sockaddr_in loopback(int host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(0x7F000000U + static_cast<std::uint32_t>(host));
  return address;
}

void set(const Descriptor& socket, int level, int option) {
  const int on = 1;
  if (setsockopt(socket.number(), level, option, &on, sizeof on) != 0) fail("setsockopt");
}

}  // namespace

void Descriptor::close() {
  if (open()) ::close(std::exchange(number_, -1));
}

Descriptor listen_on_loopback(int port, bool blocking) {
  Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK), 0));
  if (!listener.open()) fail("socket");
  set(listener, SOL_SOCKET, SO_REUSEADDR);
  const sockaddr_in address = loopback(1, port);
  if (bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EADDRINUSE) {
      throw UserError("port " + std::to_string(port) + " of 127.0.0.1 is taken: choose another, or 0 for any free one");
    }
    fail("bind");
  }
  if (listen(listener.number(), kBacklog) != 0) fail("listen");
  return listener;
}

int port_of(const Descriptor& listener) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &length) != 0) fail("getsockname");
  return ntohs(address.sin_port);
}

Descriptor connect_from_loopback(int host, int port) {
  Descriptor socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_.open()) fail("socket");
  // The port is chosen at connect, per pair of addresses, and not reserved for the source address as a whole.
  set(socket_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
  const sockaddr_in from = loopback(host, 0);
  if (bind(socket_.number(), reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0) fail("bind");
  send_at_once(socket_);
  const sockaddr_in to = loopback(1, port);
  if (connect(socket_.number(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS) {
    fail("connect");
  }
  return socket_;
}

int pending_error(const Descriptor& socket) {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

void send_at_once(const Descriptor& socket) { set(socket, IPPROTO_TCP, TCP_NODELAY); }

Descriptor make_wake_up() {
  Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.open()) fail("eventfd");
  return event;
}

void wake_up(const Descriptor& event) {
  const std::uint64_t one = 1;
  if (write(event.number(), &one, sizeof one) < 0 && errno != EAGAIN) fail("eventfd");
}

}  // namespace allocpool::echo
