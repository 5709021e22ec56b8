// What POSIX does not offer. On other systems than Linux the answers are the cautious ones.
#include <unistd.h>

#include <fstream>
#include <string>

#include "os/clock.hpp"
#include "os/thread.hpp"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace allocpool::os {

int processor_count() { return static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)); }

#if defined(__linux__)

bool kernel_trusts_tsc() {
  // A kernel under KVM may keep kvm-clock, which is itself made from the counter.
  std::string source;
  std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
  return source == "tsc" || source == "kvm-clock";
}

bool pin_to_processor(int processor) {
  if (processor < 0 || processor >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(processor), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

int current_processor() { return sched_getcpu(); }

void name_this_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

#else

bool kernel_trusts_tsc() { return false; }
bool pin_to_processor(int) { return false; }
int current_processor() { return -1; }
void name_this_thread(const char*) {}

#endif

}  // namespace allocpool::os
