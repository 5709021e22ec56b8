// What a run of the load generator is asked for, as KEY=VALUE words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace allocpool::echo {

struct Options {
  std::int64_t port = 0;               // of the server on 127.0.0.1
  std::int64_t connections = 1;        // opened before anything is sent
  std::int64_t addresses = 1;          // loopback addresses that they come from: 127.0.0.2 and following
  std::int64_t message_bytes = 512;    // newline included
  std::int64_t seed = 1;               // of the messages' contents
  double rate = 1.0;                   // messages per second over all connections
  double connect_seconds = 60.0;       // to open all connections in
  double warmup_seconds = 1.0;         // messages that are sent and checked, but not counted
  double seconds = 1.0;                // messages that are counted
  double drain_seconds = 5.0;          // for echoes that are still on their way at the end
  double hold_seconds = 60.0;          // connections stay open until standard input ends, or so long
};

// Throws UserError: an unknown key, a value that is no number or out of range; names what is valid.
Options parse_options(const std::vector<std::string>& words);

}  // namespace allocpool::echo
