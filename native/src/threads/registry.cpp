// The one place that knows which topologies, layouts and strategies there are on many threads.
#include <algorithm>
#include <limits>
#include <vector>

#include "os/memory.hpp"
#include "threads/trial.hpp"
#include "user_error.hpp"

namespace allocpool::threads {
namespace {

using Make = std::unique_ptr<Workload> (*)(const Sizes&, bool);

struct Entry {
  std::string_view layout;
  std::string_view strategy;
  bool padded;
  Make make;
};

template <class M, class Pool>
std::unique_ptr<Workload> make(const Sizes& sizes, bool has_receiver) {
  return std::make_unique<Trial<M, Pool>>(sizes, has_receiver);
}

template <class M, class... Pool>
void add(std::vector<Entry>& entries, std::string_view layout, bool padded = true) {
  (entries.push_back({layout, Pool::kName, padded, make<M, Pool>}), ...);
}

// A new strategy is its class in pools.hpp and a word here.
template <class M>
void add_layout(std::vector<Entry>& entries, std::string_view layout) {
  add<M, AllocPool<M>, LockedPool<M>, StackPool<M>, MpmcPool<M>, CachedPool<M>, OwnerPool<M>, RecyclePool<M>,
      CopyPool<M>, ThreadLocalPool<M>>(entries, layout);
  // What cells cost that share a cache line with what another thread writes.
  add<M, MpmcPool<M, alignof(void*)>, OwnerPool<M, alignof(void*)>>(entries, layout, false);
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries = [] {
    std::vector<Entry> all;
    add_layout<HeapMessage>(all, "heap");
    add_layout<FlatMessage>(all, "flat");
    return all;
  }();
  return kEntries;
}

void require(std::int64_t value, const char* name, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw UserError(std::string(name) + " is " + std::to_string(value) + ": it must be from " + std::to_string(least) +
                  " to " + std::to_string(most));
}

}  // namespace

const std::string& strategy_names() {
  static const std::string kNames = [] {
    std::string joined;
    for (const Entry& entry : entries()) {
      if (entry.layout == "heap" && entry.padded) joined.append(joined.empty() ? "" : ",").append(entry.strategy);
    }
    return joined;
  }();
  return kNames;
}

std::unique_ptr<Workload> make_workload(std::string_view topology, std::string_view layout, std::string_view strategy,
                                        const Sizes& sizes) {
  if (topology != "sharded" && topology != "pipeline") {
    throw UserError("unknown topology '" + std::string(topology) + "': choose one of sharded,pipeline");
  }
  if (layout != "heap" && layout != "flat") {
    throw UserError("unknown layout '" + std::string(layout) + "': choose one of heap,flat");
  }
  const auto match = std::find_if(entries().begin(), entries().end(), [&](const Entry& entry) {
    return entry.layout == layout && entry.strategy == strategy && entry.padded == sizes.padded;
  });
  if (match == entries().end() && !sizes.padded) {
    throw UserError("strategy '" + std::string(strategy) + "' is always padded: choose mpmc or owner, or padded");
  }
  if (match == entries().end()) {
    throw UserError("unknown strategy '" + std::string(strategy) + "': choose one of " + strategy_names());
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / 4;
  require(sizes.threads, "threads", 1, 1024);
  require(sizes.queue_size, "queue_size", sizes.threads, kMost);
  require(sizes.stored_count, "stored_count", sizes.threads, kMost);
  const bool needs_pool = strategy != "alloc" && strategy != "copy_on_keep";
  require(sizes.pool_size, "pool_size", needs_pool ? sizes.threads : 0, kMost);
  const double packets = static_cast<double>(std::max(sizes.pool_size, sizes.queue_size + sizes.stored_count));
  if (packets * 1280.0 > static_cast<double>(os::physical_memory_bytes())) {
    throw UserError("packets need more memory than this machine has: choose smaller sizes");
  }
  return match->make(sizes, topology == "pipeline");
}

}  // namespace allocpool::threads
