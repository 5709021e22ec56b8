// allocpool_load: loads an echo server on 127.0.0.1 and tells, as lines of JSON, what came back.
//
// Bounded by its options; ends when standard input ends, and with the process that started it.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "load/generator.hpp"
#include "load/options.hpp"
#include "user_error.hpp"

namespace echo = allocpool::echo;

namespace {

// Bytes of the message of an error are the C library's own words: nothing in them needs escaping.
void tell(const char* event, const echo::Generator& generator) {
  const echo::Tally& tally = generator.tally();
  std::printf("{\"event\": \"%s\", \"connected\": %lld, \"connect_failed\": %lld, \"first_failure\": \"%s\", "
              "\"sent\": %lld, \"echoed\": %lld, \"wrong\": %lld, \"dropped\": %lld, \"unanswered\": %lld, "
              "\"behind\": %lld, \"measured\": %lld, \"errors\": %lld, \"start_ns\": %lld, \"end_ns\": %lld, "
              "\"delays\": [",
              event, static_cast<long long>(tally.connected), static_cast<long long>(tally.connect_failed),
              generator.first_failure().c_str(), static_cast<long long>(tally.sent),
              static_cast<long long>(tally.echoed), static_cast<long long>(tally.wrong),
              static_cast<long long>(tally.dropped), static_cast<long long>(tally.unanswered),
              static_cast<long long>(tally.behind), static_cast<long long>(tally.measured),
              static_cast<long long>(tally.errors()), static_cast<long long>(tally.start_ns),
              static_cast<long long>(tally.end_ns));
  const char* separator = "";
  const auto& counts = generator.delays().counts();
  for (std::size_t index = 0; index < counts.size(); ++index) {
    if (counts[index] == 0) continue;
    std::printf("%s[%zu, %lld]", separator, index, static_cast<long long>(counts[index]));
    separator = ", ";
  }
  std::printf("]}\n");
  std::fflush(stdout);
}

// As many descriptors as this process may have without asking anyone.
void raise_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int count, char** words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    const echo::Options options = echo::parse_options(std::vector<std::string>(words + 1, words + count));
    raise_descriptors();
    echo::Generator generator(options);
    generator.run(STDIN_FILENO, [&](const char* event) { tell(event, generator); });
    return generator.tally().errors() == 0 ? 0 : 1;
  } catch (const allocpool::UserError& error) {
    std::fprintf(stderr, "allocpool_load: %s\n", error.what());
    return 2;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "allocpool_load: %s\n", failure.what());
    return 3;
  }
}
