// The C face of allocation, access and fragmentation.
#include <cstdint>
#include <memory>
#include <string>

#include "allocpool.h"
#include "buffers/access.hpp"
#include "buffers/allocation.hpp"
#include "buffers/class_slab.hpp"
#include "buffers/fragmentation.hpp"
#include "c_api.hpp"

namespace c_api = allocpool::c_api;

struct ap_allocation {
  std::unique_ptr<allocpool::buffers::Allocation> rounds;
};

struct ap_access {
  allocpool::buffers::Access access;
};

struct ap_fragmentation {
  std::unique_ptr<allocpool::buffers::Fragmentation> churn;
};

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMostSlots = std::int64_t{1} << 24;
constexpr std::int64_t kMostBuffers = std::int64_t{1} << 28;

void require_within(const char* what, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  throw allocpool::UserError(std::string(what) + " " + std::to_string(value) + ": from 1 to " + std::to_string(most));
}

void require_named(const char* name) { c_api::require(name != nullptr, "a name is NULL"); }

template <class Runner>
std::int64_t recorded(Runner& runner, std::int64_t duration_ns, std::int64_t iteration_ns, ap_buffers_iteration* out,
                      std::int64_t capacity) {
  c_api::require(duration_ns >= 0 && iteration_ns >= 1 && capacity >= 1, "a length is out of bounds");
  return runner.run(duration_ns, iteration_ns, &c_api::at(out), capacity);
}

bool is_valid(const ap_phase& phase) {
  if (phase.sizes == nullptr || phase.size_count < 1 || (phase.size_count & (phase.size_count - 1)) != 0) return false;
  for (std::int64_t i = 0; i < phase.size_count; ++i) {
    const auto bytes = static_cast<std::size_t>(phase.sizes[i]);
    if (phase.sizes[i] < 8 || bytes > allocpool::buffers::ClassSlab::kLargest) return false;
  }
  return phase.live_bytes >= 1 && phase.allocate_bytes >= 1;
}

}  // namespace

ap_allocation* ap_allocation_create(const char* strategy, const char* touch, int64_t bytes, int64_t slots, char* error,
                                    size_t error_bytes) {
  return c_api::made({error, error_bytes}, [&] {
    require_named(strategy);
    require_named(touch);
    require_within("bytes", bytes, kMostBytes);
    require_within("slots", slots, kMostSlots);
    auto allocation = std::make_unique<ap_allocation>();
    allocation->rounds = allocpool::buffers::make_allocation(strategy, touch, static_cast<std::size_t>(bytes),
                                                             static_cast<std::size_t>(slots));
    return allocation.release();
  });
}

ap_status ap_allocation_verify(ap_allocation* allocation, ap_allocation_counters* counters, char* message,
                               size_t message_bytes) {
  return c_api::audited<ap_status>({message, message_bytes},
                                   [&] { return c_api::at(allocation).rounds->verify(&c_api::at(counters)); });
}

int64_t ap_allocation_run(ap_allocation* allocation, int64_t duration_ns, int64_t iteration_ns,
                          ap_buffers_iteration* out, int64_t capacity) {
  return c_api::counted<std::int64_t>(
      {}, [&] { return recorded(*c_api::at(allocation).rounds, duration_ns, iteration_ns, out, capacity); });
}

void ap_allocation_destroy(ap_allocation* allocation) { delete allocation; }

ap_access* ap_access_create(const char* operation, int64_t bytes, char* error, size_t error_bytes) {
  return c_api::made({error, error_bytes}, [&] {
    require_named(operation);
    require_within("bytes", bytes, kMostBytes);
    return new ap_access{allocpool::buffers::Access(operation, static_cast<std::size_t>(bytes))};
  });
}

int64_t ap_access_run(ap_access* access, int64_t duration_ns, int64_t iteration_ns, ap_buffers_iteration* out,
                      int64_t capacity) {
  return c_api::counted<std::int64_t>(
      {}, [&] { return recorded(c_api::at(access).access, duration_ns, iteration_ns, out, capacity); });
}

ap_status ap_access_get_checksum(ap_access* access, int64_t passes, uint64_t* checksum) {
  return c_api::status<ap_status>({}, [&] { c_api::at(checksum) = c_api::at(access).access.checksum_after(passes); });
}

void ap_access_destroy(ap_access* access) { delete access; }

ap_fragmentation* ap_fragmentation_create(const char* technique, int64_t max_buffers, int64_t reserved_bytes,
                                          uint64_t seed, char* error, size_t error_bytes) {
  return c_api::made({error, error_bytes}, [&] {
    require_named(technique);
    require_within("max_buffers", max_buffers, kMostBuffers);
    require_within("reserved_bytes", reserved_bytes, INT64_MAX);
    auto fragmentation = std::make_unique<ap_fragmentation>();
    fragmentation->churn = allocpool::buffers::make_fragmentation(technique, max_buffers, reserved_bytes, seed);
    return fragmentation.release();
  });
}

int64_t ap_fragmentation_run(ap_fragmentation* fragmentation, const ap_phase* phase, int64_t number,
                             ap_fragment_sample* out, int64_t windows) {
  return c_api::counted<std::int64_t>({}, [&] {
    c_api::require(is_valid(c_api::at(phase)) && windows >= 1, "a phase or a number of windows is out of bounds");
    return c_api::at(fragmentation).churn->run(*phase, number, &c_api::at(out), windows);
  });
}

ap_status ap_fragmentation_get_checksum(const ap_fragmentation* fragmentation, uint64_t* checksum) {
  return c_api::status<ap_status>({}, [&] { c_api::at(checksum) = c_api::at(fragmentation).churn->checksum(); });
}

ap_status ap_fragmentation_audit(const ap_fragmentation* fragmentation, char* message, size_t message_bytes) {
  return c_api::audited<ap_status>({message, message_bytes}, [&] { return c_api::at(fragmentation).churn->audit(); });
}

void ap_fragmentation_destroy(ap_fragmentation* fragmentation) { delete fragmentation; }
