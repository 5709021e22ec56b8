#include "packets/registry.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "os/memory.hpp"
#include "packets/layout_allocating.hpp"
#include "packets/layout_flat.hpp"
#include "packets/layout_flat_pmr.hpp"
#ifdef ALLOCPOOL_HAS_BOOST
#include "packets/layout_flat_boost.hpp"
#endif
#include "packets/layout_slab.hpp"
#include "packets/processor.hpp"
#include "packets/slab_steps.hpp"
#include "packets/strategy_alloc.hpp"
#include "packets/strategy_dummy.hpp"
#include "packets/strategy_pool.hpp"
#include "user_error.hpp"

namespace allocpool {
namespace {

using Make = std::unique_ptr<Workload> (*)(const Sizes&, std::uint64_t seed, const SlabSteps&);

struct Entry {
  std::string_view layout;
  std::string_view strategy;
  std::size_t packet_bytes;
  Make make;
};

template <class Layout, template <class> class Strategy>
std::unique_ptr<Workload> make(const Sizes& sizes, std::uint64_t seed, const SlabSteps&) {
  return std::make_unique<Processor<Layout, Strategy<Layout>>>(sizes, seed);
}

template <class Layout, template <class> class Strategy>
constexpr Entry entry(std::string_view strategy) {
  return {Layout::kName, strategy, Layout::kPacketBytes, make<Layout, Strategy>};
}

// A step is a template parameter, so that one that is off costs nothing: run-time flags become types one by one.
template <template <class> class Strategy, bool... kSteps>
std::unique_ptr<Workload> make_slab(const Sizes& sizes, std::uint64_t seed, const SlabSteps& steps) {
  constexpr std::array kMembers{&SlabSteps::one_line, &SlabSteps::stride, &SlabSteps::prefetch};
  if constexpr (sizeof...(kSteps) < kMembers.size()) {
    return steps.*kMembers[sizeof...(kSteps)] ? make_slab<Strategy, kSteps..., true>(sizes, seed, steps)
                                              : make_slab<Strategy, kSteps..., false>(sizes, seed, steps);
  } else {
    using Layout = SlabLayout<kSteps...>;
    const std::int64_t slots = Strategy<Layout>::kShared ? 1 : sizes.pool_size;
    return std::make_unique<Processor<Layout, Strategy<Layout>>>(sizes, seed, slots, steps.huge_pages);
  }
}

template <template <class> class Strategy>
constexpr Entry slab_entry(std::string_view strategy) {
  using AnySlab = SlabLayout<true, true, true>;  // every variant takes as much memory, give or take a line
  return {AnySlab::kName, strategy, AnySlab::kPacketBytes, make_slab<Strategy>};
}

constexpr std::string_view kSlab = SlabLayout<true, true, true>::kName;

using FlatPoolResource = FlatPmrLayout<std::pmr::unsynchronized_pool_resource>;
using FlatMonotonicResource = FlatPmrLayout<std::pmr::monotonic_buffer_resource>;

// A new layout is a header and a few lines here; a new strategy is a header and one line for each layout.
constexpr std::array kEntries{
    entry<AllocatingLayout, DummyStrategy>("dummy"),
    entry<AllocatingLayout, AllocStrategy>("alloc"),
    entry<AllocatingLayout, PoolStrategy>("mix"),
    entry<AllocatingLayout, PoolStrategy>("pool"),
    entry<FlatLayout, DummyStrategy>("dummy"),
    entry<FlatLayout, AllocStrategy>("alloc"),
    entry<FlatLayout, PoolStrategy>("mix"),
    entry<FlatLayout, PoolStrategy>("pool"),
    entry<FlatPoolResource, AllocStrategy>("pmr_pool"),
    entry<FlatMonotonicResource, AllocStrategy>("pmr_monotonic"),
#ifdef ALLOCPOOL_HAS_BOOST
    entry<FlatBoostLayout, AllocStrategy>("boost_pool"),
#endif
    slab_entry<DummyStrategy>("dummy"),
    slab_entry<PoolStrategy>("pool"),
};

// Why a layout lacks a strategy that others have.
constexpr std::string_view kSlabHasNoOthers = " (a slab's memory is all there at the start: nothing is left to allocate)";
constexpr std::string_view kOnlyFlatHasResources = " (resources in place of new are tried under layout flat)";

// Of the entries whose layout is `layout`, or of all when that is empty.
std::string names(std::string_view Entry::*member, std::string_view layout = {}) {
  std::string joined;
  for (const Entry& entry : kEntries) {
    if (!layout.empty() && entry.layout != layout) continue;
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

std::string strategy_names_of(const std::string& layout) { return names(&Entry::strategy, layout); }

std::unique_ptr<Workload> make_workload(const std::string& layout, const std::string& strategy, const Sizes& sizes,
                                        std::uint64_t seed, const char* steps) {
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
  if (found == kEntries.end()) {
    throw UserError("layout " + layout + " has no strategy " + strategy + ": choose one of " + strategy_names_of(layout) +
                    std::string(layout == kSlab ? kSlabHasNoOthers : kOnlyFlatHasResources));
  }
  if (steps != nullptr && layout != kSlab) throw UserError("steps belong to layout slab, not to layout " + layout);
  const SlabSteps parsed_steps = parse_slab_steps(steps);
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
  return found->make(sizes, seed, parsed_steps);
}

}  // namespace allocpool
