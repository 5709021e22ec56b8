#include "packets/registry.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "os/memory.hpp"
#include "packets/layout_allocating.hpp"
#include "packets/layout_flat.hpp"
#include "packets/layout_slab.hpp"
#ifdef ALLOCPOOL_HAS_BOOST
#include "packets/memory_boost.hpp"
#endif
#include "packets/memory_new.hpp"
#include "packets/memory_pmr.hpp"
#include "packets/memory_region.hpp"
#include "packets/processor.hpp"
#include "packets/steps.hpp"
#include "packets/strategy_alloc.hpp"
#include "packets/strategy_dummy.hpp"
#include "packets/strategy_pool.hpp"
#include "user_error.hpp"

namespace allocpool {
namespace {

// One packet is always in the nearest cache, wherever it lies: `dummy` has its layout's own steps only.
template <class Layout, class Strategy, bool... kSteps>
constexpr bool kTakesSteps =
    Strategy::kPooled || Strategy::kConstructs || ((kSteps == Layout::kLadder.all_on) && ...);

using Make = std::unique_ptr<Workload> (*)(const Settings&, const Steps&, const Stock&);

struct Entry {
  Combination names;
  bool pooled;
  bool constructs;
  bool aligns;
  const Ladder* ladder;
  std::size_t packet_bytes;
  Make make;
};

template <class Layout, class Memory, class Strategy>
std::unique_ptr<Workload> made(const Settings& settings, const Steps& steps, const Stock& stock) {
  using Made = Processor<Layout, Strategy>;
  if constexpr (Memory::kGivesObjects) {
    return std::make_unique<Made>(settings, stock);
  } else {
    const std::int64_t slots = std::max<std::int64_t>(1, stock.prepared);
    return std::make_unique<Made>(settings, stock, slots, steps.huge_pages);
  }
}

// A step is a template parameter, so that one that is off costs nothing: run-time flags become types one by one.
template <class Layout, class Strategy, class Memory, bool... kSteps>
std::unique_ptr<Workload> make(const Settings& settings, const Steps& steps, const Stock& stock) {
  constexpr const auto& kSwitches = Layout::kSwitches;
  if constexpr (sizeof...(kSteps) < kSwitches.size()) {
    return steps.*kSwitches[sizeof...(kSteps)] ? make<Layout, Strategy, Memory, kSteps..., true>(settings, steps, stock)
                                               : make<Layout, Strategy, Memory, kSteps..., false>(settings, steps, stock);
  } else if constexpr (Layout::template kMakesSense<Memory, kSteps...> && kTakesSteps<Layout, Strategy, kSteps...>) {
    using With = typename Layout::template With<Memory, kSteps...>;
    if constexpr (Strategy::kPooled) {
      if (settings.fifo) return made<With, Memory, typename Strategy::template With<With, true>>(settings, steps, stock);
    }
    return made<With, Memory, typename Strategy::template With<With>>(settings, steps, stock);
  } else {
    throw std::logic_error("steps that make no sense were let pass");
  }
}

// The most that any of the layout's steps takes.
template <class Layout, class Memory, bool... kSteps>
constexpr std::size_t packet_bytes() {
  if constexpr (sizeof...(kSteps) < Layout::kSwitches.size()) {
    return std::max(packet_bytes<Layout, Memory, kSteps..., true>(), packet_bytes<Layout, Memory, kSteps..., false>());
  } else if constexpr (Layout::template kMakesSense<Memory, kSteps...>) {
    return Layout::template With<Memory, kSteps...>::kPacketBytes;
  } else {
    return 0;
  }
}

template <class Layout, class Memory, class Strategy>
Entry entry() {
  return {{Layout::kName, Strategy::kName, Memory::kName},
          Strategy::kPooled,
          Strategy::kConstructs,
          Memory::kAligns,
          &Layout::kLadder,
          packet_bytes<Layout, Memory>(),
          make<Layout, Strategy, Memory>};
}

// What is measured, a row each. The first memory of a layout is its default. The memories of std::pmr and Boost are tried
// where each message asks them for a packet: a pool would hide them. A region is there at the start: nothing is allocated.
const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries = {
      entry<Allocating, New, Dummy>(),
      entry<Allocating, New, Alloc>(),
      entry<Allocating, New, Mix>(),
      entry<Allocating, New, Pool>(),
      entry<Flat, New, Dummy>(),
      entry<Flat, New, Alloc>(),
      entry<Flat, New, Mix>(),
      entry<Flat, New, Pool>(),
      entry<Flat, PmrPool, Alloc>(),
      entry<Flat, PmrMonotonic, Alloc>(),
#ifdef ALLOCPOOL_HAS_BOOST
      entry<Flat, BoostPool, Alloc>(),
#endif
      entry<Slab, Region, Dummy>(),
      entry<Slab, Region, Pool>(),
  };
  return kEntries;
}

// The names on one axis of the entries that `wanted` holds for, each once.
template <class Wanted>
std::string names_where(std::string_view Combination::*axis, const Wanted& wanted) {
  std::vector<std::string_view> seen;
  std::string joined;
  for (const Entry& entry : entries()) {
    const std::string_view name = entry.names.*axis;
    if (!wanted(entry) || std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    joined.append(joined.empty() ? "" : ",").append(name);
  }
  return joined;
}

std::string names_of(std::string_view Combination::*axis) {
  return names_where(axis, [](const Entry&) { return true; });
}

void require_known(const char* axis, std::string_view name, const std::string& known) {
  if (("," + known + ",").find("," + std::string(name) + ",") != std::string::npos) return;
  throw UserError(std::string("unknown ") + axis + " '" + std::string(name) + "': choose one of " + known);
}

const Entry& entry_of(std::string_view layout, std::string_view strategy, std::string_view memory) {
  require_known("layout", layout, layout_names());
  require_known("strategy", strategy, strategy_names());
  if (!memory.empty()) require_known("memory", memory, memory_names());
  const auto has_layout = [&](const Entry& entry) { return entry.names.layout == layout; };
  const std::string taken = names_where(&Combination::memory, has_layout);
  if (memory.empty()) memory = std::find_if(entries().begin(), entries().end(), has_layout)->names.memory;
  const auto has_both = [&](const Entry& entry) { return has_layout(entry) && entry.names.memory == memory; };
  const auto first = std::find_if(entries().begin(), entries().end(), has_both);
  const std::string where = "layout " + std::string(layout);
  if (first == entries().end()) {
    throw UserError(where + " has no memory " + std::string(memory) + ": choose one of " + taken);
  }
  const auto match = std::find_if(first, entries().end(), [&](const Entry& entry) {
    return has_both(entry) && entry.names.strategy == strategy;
  });
  if (match == entries().end()) {
    throw UserError(where + " with memory " + std::string(memory) + " has no strategy " + std::string(strategy) +
                    ": choose one of " + names_where(&Combination::strategy, has_both));
  }
  return *match;
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

// Besides those in queue and store, the one that is received.
std::int64_t out_at_once(const Sizes& sizes) { return sizes.queue_size + sizes.stored_count + 1; }

void require_steps(const Entry& entry, const Steps& steps, bool own) {
  if (!entry.pooled && !entry.constructs && !own) {
    throw UserError("strategy " + std::string(entry.names.strategy) +
                    " has one packet, always in the nearest cache: leave steps out");
  }
  if (entry.aligns || !(steps.one_line || steps.prefetch)) return;
  throw UserError("memory " + std::string(entry.names.memory) + " does not align packets: choose steps inline, or none");
}

void require_sizes(const Entry& entry, const Sizes& sizes) {
  require_size("queue_size", sizes.queue_size);
  require_size("stored_count", sizes.stored_count);
  const std::int64_t live = out_at_once(sizes);
  std::int64_t packets = entry.pooled || entry.constructs ? live : 1;
  if (entry.pooled) {
    require_size("pool_size", sizes.pool_size);
    packets = std::max(packets, sizes.pool_size);
    if (!entry.constructs && sizes.pool_size < live) {
      throw UserError("pool_size is " + std::to_string(sizes.pool_size) + ": strategy " +
                      std::string(entry.names.strategy) + " needs at least " + std::to_string(live) +
                      " (queue_size + stored_count + 1)");
    }
  }
  require_memory(entry.packet_bytes, packets);
}

}  // namespace

std::vector<Combination> combinations() {
  std::vector<Combination> names;
  for (const Entry& entry : entries()) names.push_back(entry.names);
  return names;
}

const std::string& layout_names() {
  static const std::string kNames = names_of(&Combination::layout);
  return kNames;
}

const std::string& strategy_names() {
  static const std::string kNames = names_of(&Combination::strategy);
  return kNames;
}

const std::string& memory_names() {
  static const std::string kNames = names_of(&Combination::memory);
  return kNames;
}

std::unique_ptr<Workload> make_workload(std::string_view layout, std::string_view strategy, std::string_view memory,
                                        const Settings& settings) {
  const Entry& entry = entry_of(layout, strategy, memory);
  const Steps steps = parse_steps(layout, *entry.ladder, settings.steps);
  require_steps(entry, steps, settings.steps == nullptr || steps == parse_steps(layout, *entry.ladder, nullptr));
  require_sizes(entry, settings.sizes);
  if (settings.fifo && !entry.pooled) {
    const std::string pooled = names_where(&Combination::strategy, [](const Entry& other) { return other.pooled; });
    throw UserError("strategy " + std::string(strategy) +
                    " has no pool to hand out in another order: leave fifo out, or choose one of " + pooled);
  }
  const Sizes& sizes = settings.sizes;
  Stock stock{entry.pooled ? sizes.pool_size : 0, 0, settings.aged, settings.seed};
  stock.prepared = settings.aged && entry.constructs ? std::max(stock.pool_size, out_at_once(sizes)) : stock.pool_size;
  return entry.make(settings, steps, stock);
}

}  // namespace allocpool
