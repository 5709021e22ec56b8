// Runs a workload in measured windows and records them into memory that the caller prepared.
#pragma once

#include <cstdint>

#include "allocpool.h"
#include "packets/workload.hpp"

namespace allocpool {

// Both return the number of records written; see ap_packets_run_packets and ap_packets_run_for.
std::int64_t run_packets(Workload& workload, std::int64_t packets, std::int64_t iteration_packets, ap_iteration* out,
                         std::int64_t capacity);
std::int64_t run_for(Workload& workload, std::int64_t duration_ns, std::int64_t iteration_ns, ap_iteration* out,
                     std::int64_t capacity);

}  // namespace allocpool
