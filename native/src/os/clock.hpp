// The clock of the operating system.
#pragma once

#include <cstdint>

namespace allocpool::os {

// CLOCK_MONOTONIC in nanoseconds: the axis of all times in this project.
std::int64_t monotonic_ns();

// Whether the operating system's own clock trusts the processor's time-stamp counter on this machine. Only asked where
// the processor calls its counter invariant; a kernel that found it drifting between cores has given it up.
bool kernel_trusts_tsc();

}  // namespace allocpool::os
