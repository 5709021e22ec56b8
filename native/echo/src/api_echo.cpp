// The C face of the servers.
#include <cstdint>
#include <memory>
#include <string>

#include "allocpool_echo.h"
#include "c_api.hpp"
#include "server/server.hpp"

namespace c_api = allocpool::c_api;
namespace echo = allocpool::echo;

struct ap_echo {
  std::unique_ptr<echo::Server> server;
};

namespace {

constexpr bool is(int status, c_api::Code code) { return status == static_cast<int>(code); }
static_assert(is(AP_ECHO_OK, c_api::Code::ok) && is(AP_ECHO_INVALID_ARGUMENT, c_api::Code::invalid_argument) &&
              is(AP_ECHO_OUT_OF_MEMORY, c_api::Code::out_of_memory) && is(AP_ECHO_FAILED, c_api::Code::failed));

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
  return c_api::made({error, error_bytes}, [&] {
    c_api::require(io != nullptr, "io must be named: choose one of threads, epoll");
    return new ap_echo{start(io, port, message_bytes)};
  });
}

int ap_echo_port(const ap_echo* echo) {
  return c_api::counted<int>({}, [&] { return c_api::at(echo).server->port(); });
}

ap_echo_status ap_echo_get_counts(const ap_echo* echo, ap_echo_counts* counts) {
  return c_api::status<ap_echo_status>({}, [&] {
    const echo::Counts& now = c_api::at(echo).server->counts();
    c_api::at(counts) = {now.accepted, now.closed, now.messages, now.oversize, now.refused};
  });
}

void ap_echo_stop(ap_echo* echo) { delete echo; }
