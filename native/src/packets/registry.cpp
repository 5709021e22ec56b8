#include "packets/registry.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "os/memory.hpp"
#include "packets/layout_allocating.hpp"
#include "packets/layout_flat.hpp"
#include "packets/processor.hpp"
#include "packets/strategy_alloc.hpp"
#include "packets/strategy_dummy.hpp"
#include "packets/strategy_pool.hpp"
#include "user_error.hpp"

namespace allocpool {
namespace {

using Make = std::unique_ptr<Workload> (*)(const Sizes&, std::uint64_t seed);

struct Entry {
  std::string_view layout;
  std::string_view strategy;
  std::size_t packet_bytes;
  Make make;
};

template <class Layout, template <class> class Strategy>
std::unique_ptr<Workload> make(const Sizes& sizes, std::uint64_t seed) {
  return std::make_unique<Processor<Layout, Strategy<Layout>>>(sizes, seed);
}

template <class Layout, template <class> class Strategy>
constexpr Entry entry(std::string_view strategy) {
  return {Layout::kName, strategy, Layout::kPacketBytes, make<Layout, Strategy>};
}

// A new layout is a header and four lines here; a new strategy is a header and one line for each layout.
constexpr std::array kEntries{
    entry<AllocatingLayout, DummyStrategy>("dummy"),
    entry<AllocatingLayout, AllocStrategy>("alloc"),
    entry<AllocatingLayout, PoolStrategy>("mix"),
    entry<AllocatingLayout, PoolStrategy>("pool"),
    entry<FlatLayout, DummyStrategy>("dummy"),
    entry<FlatLayout, AllocStrategy>("alloc"),
    entry<FlatLayout, PoolStrategy>("mix"),
    entry<FlatLayout, PoolStrategy>("pool"),
};

std::string names(std::string_view Entry::*member) {
  std::string joined;
  for (const Entry& entry : kEntries) {
    const std::string name(entry.*member);
    if (("," + joined + ",").find("," + name + ",") != std::string::npos) continue;
    joined += (joined.empty() ? "" : ",") + name;
  }
  return joined;
}

void require_size(const char* name, std::int64_t value) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (value < 1 || value > kMax) {
    throw UserError(std::string(name) + " is " + std::to_string(value) + ": it must be from 1 to " +
                    std::to_string(kMax));
  }
}

void require_memory(std::size_t packet_bytes, std::int64_t packets) {
  const double needed = static_cast<double>(packets) * static_cast<double>(packet_bytes + sizeof(void*));
  const double present = static_cast<double>(os::physical_memory_bytes());
  if (needed > present) {
    throw UserError("packets need " + std::to_string(static_cast<std::int64_t>(needed / 1e6)) +
                    " MB and this machine has " + std::to_string(static_cast<std::int64_t>(present / 1e6)) +
                    " MB: choose smaller sizes");
  }
}

}  // namespace

const std::string& layout_names() {
  static const std::string kNames = names(&Entry::layout);
  return kNames;
}

const std::string& strategy_names() {
  static const std::string kNames = names(&Entry::strategy);
  return kNames;
}

std::unique_ptr<Workload> make_workload(const std::string& layout, const std::string& strategy, const Sizes& sizes,
                                        std::uint64_t seed) {
  const auto knows = [](std::string_view Entry::*member, const std::string& name) {
    return std::any_of(kEntries.begin(), kEntries.end(), [&](const Entry& entry) { return entry.*member == name; });
  };
  if (!knows(&Entry::layout, layout)) {
    throw UserError("unknown layout '" + layout + "': choose one of " + layout_names());
  }
  if (!knows(&Entry::strategy, strategy)) {
    throw UserError("unknown strategy '" + strategy + "': choose one of " + strategy_names());
  }
  const auto found = std::find_if(kEntries.begin(), kEntries.end(), [&](const Entry& entry) {
    return entry.layout == layout && entry.strategy == strategy;
  });
  if (found == kEntries.end()) throw UserError("strategy " + strategy + " is not available in layout " + layout);
  require_size("queue_size", sizes.queue_size);
  require_size("stored_count", sizes.stored_count);
  const std::int64_t live = sizes.queue_size + sizes.stored_count + 1;
  std::int64_t packets = strategy == "dummy" ? 1 : live;
  if (strategy == "mix" || strategy == "pool") {
    require_size("pool_size", sizes.pool_size);
    packets = std::max(packets, sizes.pool_size);
  }
  if (strategy == "pool" && sizes.pool_size < live) {
    throw UserError("pool_size is " + std::to_string(sizes.pool_size) + ": strategy pool needs at least " +
                    std::to_string(live) + " (queue_size + stored_count + 1)");
  }
  require_memory(found->packet_bytes, packets);
  return found->make(sizes, seed);
}

}  // namespace allocpool
