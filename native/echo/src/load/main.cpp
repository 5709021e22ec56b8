// allocpool_load: loads an echo server on 127.0.0.1 and reports, as lines of JSON, what came back.
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

void tell_counts(const allocpool::realtime::DelayHistogram& delays) {
  const char* separator = "[";
  const auto& counts = delays.counts();
  for (std::size_t index = 0; index < counts.size(); ++index) {
    if (counts[index] == 0) continue;
    std::printf("%s[%zu, %lld]", separator, index, static_cast<long long>(counts[index]));
    separator = ", ";
  }
  std::printf("%s]", *separator == '[' ? "[" : "");
}

// Bytes of the message of an error are the C library's own words: nothing in them needs escaping.
void tell(const char* event, const echo::Generator& generator) {
  const echo::Tally& tally = generator.tally();
  const auto number = [](std::int64_t value) { return static_cast<long long>(value); };
  std::printf("{\"event\": \"%s\", \"connected\": %lld, \"connect_failed\": %lld, \"first_failure\": \"%s\", "
              "\"sent\": %lld, \"echoed\": %lld, \"wrong\": %lld, \"dropped\": %lld, \"unanswered\": %lld, "
              "\"behind\": %lld, \"due\": %lld, \"measured\": %lld, \"arrived\": %lld, \"served\": %lld, "
              "\"errors\": %lld, \"start_ns\": %lld, \"end_ns\": %lld, \"neighbour_walks\": %lld, "
              "\"neighbour_walk_ns\": %lld, \"neighbour_again_ns\": %lld, \"neighbour_lines\": %lld, \"delays\": ",
              event, number(tally.connected), number(tally.connect_failed), generator.first_failure().c_str(),
              number(tally.sent), number(tally.echoed), number(tally.wrong), number(tally.dropped),
              number(tally.unanswered), number(tally.behind), number(tally.due), number(tally.measured),
              number(tally.arrived), number(tally.served), number(tally.errors()), number(tally.start_ns),
              number(tally.end_ns), number(generator.neighbour().walks()), number(generator.neighbour().walk_ns()),
              number(generator.neighbour().again_ns()), number(echo::Neighbour::kLines));
  tell_counts(generator.delays());
  std::printf(", \"arrived_delays\": ");
  tell_counts(generator.arrived_delays());
  std::printf("}\n");
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
