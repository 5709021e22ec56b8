// The C face of the servers: no exception passes it.
#include <exception>
#include <memory>
#include <string>

#include "allocpool_echo.h"
#include "server/server.hpp"
#include "text.hpp"
#include "user_error.hpp"

namespace echo = allocpool::echo;

struct ap_echo {
  std::unique_ptr<echo::Server> server;
};

namespace {

std::unique_ptr<echo::Server> start(const std::string& io, int port, std::int64_t message_bytes) {
  if (message_bytes < 2 || message_bytes > 65'536) {
    throw allocpool::UserError("message_bytes " + std::to_string(message_bytes) + " is not 2 to 65536");
  }
  if (port < 0 || port > 65'535) throw allocpool::UserError("port " + std::to_string(port) + " is not 0 to 65535");
  const auto bytes = static_cast<std::size_t>(message_bytes);
  if (io == "threads") return echo::start_threads_server(port, bytes);
  if (io == "epoll") return echo::start_epoll_server(port, bytes);
  throw allocpool::UserError("unknown io '" + io + "': choose one of threads, epoll");
}

}  // namespace

ap_echo* ap_echo_start(const char* io, int port, int64_t message_bytes, char* error, size_t error_bytes) {
  try {
    return new ap_echo{start(io, port, message_bytes)};
  } catch (const std::exception& failure) {
    allocpool::copy_line(failure.what(), error, error_bytes);
    return nullptr;
  }
}

int ap_echo_port(const ap_echo* echo) { return echo->server->port(); }

void ap_echo_get_counts(const ap_echo* echo, ap_echo_counts* counts) {
  const echo::Counts& found = echo->server->counts();
  *counts = {found.accepted, found.closed, found.messages, found.oversize, found.refused};
}

void ap_echo_stop(ap_echo* echo) { delete echo; }
