// The clock of the operating system.
#pragma once

#include <cstdint>

namespace allocpool::os {

// CLOCK_MONOTONIC in nanoseconds: the axis of all times in this project.
std::int64_t monotonic_ns();

}  // namespace allocpool::os
