#include "load/options.hpp"

#include <cstdio>
#include <cstdlib>
#include <variant>

#include "user_error.hpp"

namespace allocpool::echo {

namespace {

// Every run is bounded: in connections, in addresses and in each of its times.
struct Key {
  const char* name;
  std::variant<std::int64_t Options::*, double Options::*> field;
  double least;
  double most;
};

constexpr double kHour = 3600.0;

const Key kKeys[] = {
    {"port", &Options::port, 1, 65'535},
    {"connections", &Options::connections, 1, 60'000},
    {"addresses", &Options::addresses, 1, 250},
    {"message_bytes", &Options::message_bytes, 2, 65'536},
    {"seed", &Options::seed, 0, 9e15},
    {"rate", &Options::rate, 0.001, 1e7},
    {"connect_seconds", &Options::connect_seconds, 0.1, kHour},
    {"warmup_seconds", &Options::warmup_seconds, 0, kHour},
    {"seconds", &Options::seconds, 0.01, kHour},
    {"drain_seconds", &Options::drain_seconds, 0, kHour},
    {"hold_seconds", &Options::hold_seconds, 0, kHour},
};

std::string names() {
  std::string all;
  for (const Key& key : kKeys) all += (all.empty() ? "" : ", ") + std::string(key.name);
  return all;
}

std::string plain(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

void assign(Options& options, const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  for (const Key& key : kKeys) {
    if (name != key.name) continue;
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    const bool whole = std::holds_alternative<std::int64_t Options::*>(key.field);
    const bool valid = !value.empty() && *end == '\0' && number >= key.least && number <= key.most &&
                       (!whole || number == static_cast<double>(static_cast<std::int64_t>(number)));
    if (!valid) {
      throw UserError(name + " '" + value + "' is not a" + (whole ? " whole" : "") + " number from " + plain(key.least) +
                      " to " + plain(key.most));
    }
    if (whole) {
      options.*std::get<std::int64_t Options::*>(key.field) = static_cast<std::int64_t>(number);
    } else {
      options.*std::get<double Options::*>(key.field) = number;
    }
    return;
  }
  throw UserError("unknown setting '" + word + "': KEY=VALUE with one of " + names());
}

}  // namespace

Options parse_options(const std::vector<std::string>& words) {
  Options options;
  for (const std::string& word : words) assign(options, word);
  if (options.port == 0) throw UserError("port is missing: the server's on 127.0.0.1");
  return options;
}

}  // namespace allocpool::echo
