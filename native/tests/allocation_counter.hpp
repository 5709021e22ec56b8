// Counts what the test process allocates by `new`.
#pragma once

#include <cstdint>

namespace allocpool::test {

std::int64_t allocations();
std::int64_t allocated_bytes();

}  // namespace allocpool::test
