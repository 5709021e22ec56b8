// What every echo server is.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "allocpool_echo.h"

namespace allocpool::echo {

// Counts that the server's threads add to and anyone may read.
struct Counts {
  std::atomic<std::int64_t> accepted{0};
  std::atomic<std::int64_t> closed{0};
  std::atomic<std::int64_t> messages{0};
  std::atomic<std::int64_t> oversize{0};
  std::atomic<std::int64_t> refused{0};
};

// Serves from construction to destruction.
class Server {
 public:
  virtual ~Server() = default;
  virtual int port() const = 0;
  const Counts& counts() const { return counts_; }

 protected:
  Counts counts_;
};

std::unique_ptr<Server> start_threads_server(int port, std::size_t message_bytes);
std::unique_ptr<Server> start_epoll_server(int port, std::size_t message_bytes);

}  // namespace allocpool::echo
