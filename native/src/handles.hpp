// What the opaque handles of the C API hold.
#pragma once

#include <memory>

#include "packets/workload.hpp"
#include "realtime/session.hpp"

struct ap_packets {
  std::unique_ptr<allocpool::Workload> workload;
};

struct ap_realtime {
  allocpool::realtime::Session session;
};
