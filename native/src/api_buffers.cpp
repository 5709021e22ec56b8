// The C face of allocation, access and fragmentation: no exception passes it.
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "allocpool.h"
#include "buffers/access.hpp"
#include "buffers/allocation.hpp"
#include "buffers/class_slab.hpp"
#include "buffers/fragmentation.hpp"
#include "text.hpp"
#include "user_error.hpp"

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

constexpr std::int64_t kInvalidArgument = -1;
constexpr std::int64_t kOutOfMemory = -2;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMostSlots = std::int64_t{1} << 24;
constexpr std::int64_t kMostBuffers = std::int64_t{1} << 28;

void require(const char* what, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  throw allocpool::UserError(std::string(what) + " " + std::to_string(value) + ": from 1 to " + std::to_string(most));
}

// What `make` returns, or null with the line that says why not.
template <class Make>
auto made(const Make& make, char* error, size_t error_bytes) -> decltype(make()) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    allocpool::copy_line("out of memory while setting up: choose smaller sizes", error, error_bytes);
  } catch (const std::exception& failure) {
    allocpool::copy_line(failure.what(), error, error_bytes);
  }
  return nullptr;
}

template <class Run>
std::int64_t counted(const Run& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
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
  return made(
      [&] {
        require("bytes", bytes, kMostBytes);
        require("slots", slots, kMostSlots);
        auto allocation = std::make_unique<ap_allocation>();
        allocation->rounds = allocpool::buffers::make_allocation(strategy, touch, static_cast<std::size_t>(bytes),
                                                                 static_cast<std::size_t>(slots));
        return allocation.release();
      },
      error, error_bytes);
}

int ap_allocation_verify(ap_allocation* allocation, ap_allocation_books* books, char* message, size_t message_bytes) {
  try {
    const std::string fault = allocation->rounds->verify(books);
    allocpool::copy_line(fault, message, message_bytes);
    return fault.empty() ? 0 : 1;
  } catch (const std::bad_alloc&) {
    return static_cast<int>(kOutOfMemory);
  }
}

int64_t ap_allocation_run(ap_allocation* allocation, int64_t duration_ns, int64_t iteration_ns,
                          ap_buffers_iteration* out, int64_t capacity) {
  if (allocation == nullptr || duration_ns < 0 || iteration_ns < 1 || out == nullptr || capacity < 1) {
    return kInvalidArgument;
  }
  return counted([&] { return allocation->rounds->run(duration_ns, iteration_ns, out, capacity); });
}

void ap_allocation_destroy(ap_allocation* allocation) { delete allocation; }

ap_access* ap_access_create(const char* operation, int64_t bytes, char* error, size_t error_bytes) {
  return made(
      [&] {
        require("bytes", bytes, kMostBytes);
        return new ap_access{allocpool::buffers::Access(operation, static_cast<std::size_t>(bytes))};
      },
      error, error_bytes);
}

int64_t ap_access_run(ap_access* access, int64_t duration_ns, int64_t iteration_ns, ap_buffers_iteration* out,
                      int64_t capacity) {
  if (access == nullptr || duration_ns < 0 || iteration_ns < 1 || out == nullptr || capacity < 1) {
    return kInvalidArgument;
  }
  return access->access.run(duration_ns, iteration_ns, out, capacity);
}

uint64_t ap_access_checksum(ap_access* access, int64_t passes) { return access->access.checksum_after(passes); }

void ap_access_destroy(ap_access* access) { delete access; }

ap_fragmentation* ap_fragmentation_create(const char* technique, int64_t max_buffers, int64_t reserved_bytes,
                                          uint64_t seed, char* error, size_t error_bytes) {
  return made(
      [&] {
        require("max_buffers", max_buffers, kMostBuffers);
        require("reserved_bytes", reserved_bytes, INT64_MAX);
        auto fragmentation = std::make_unique<ap_fragmentation>();
        fragmentation->churn =
            allocpool::buffers::make_fragmentation(technique, max_buffers, reserved_bytes, seed);
        return fragmentation.release();
      },
      error, error_bytes);
}

int64_t ap_fragmentation_run(ap_fragmentation* fragmentation, const ap_phase* phase, int64_t number,
                             ap_fragment_sample* out, int64_t windows) {
  if (fragmentation == nullptr || phase == nullptr || !is_valid(*phase) || out == nullptr || windows < 1) {
    return kInvalidArgument;
  }
  return counted([&] { return fragmentation->churn->run(*phase, number, out, windows); });
}

uint64_t ap_fragmentation_checksum(const ap_fragmentation* fragmentation) { return fragmentation->churn->checksum(); }

int ap_fragmentation_audit(const ap_fragmentation* fragmentation, char* message, size_t message_bytes) {
  const std::string fault = fragmentation->churn->audit();
  allocpool::copy_line(fault, message, message_bytes);
  return fault.empty() ? 0 : 1;
}

void ap_fragmentation_destroy(ap_fragmentation* fragmentation) { delete fragmentation; }
