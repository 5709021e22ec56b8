// Memory as the operating system gives it.
#pragma once

#include <cstdint>

namespace allocpool::os {

// Memory of the machine in bytes.
std::uint64_t physical_memory_bytes();

}  // namespace allocpool::os
