#include "cache.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace allocpool::sharing {
namespace {

// Not from the heap, whose addresses are part of what is simulated; and touched where a line is only.
void* reserved(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

template <class Visit>
void each_thread(unsigned threads, Visit visit) {
  for (; threads != 0; threads &= threads - 1) visit(static_cast<std::size_t>(__builtin_ctz(threads)));
}

}  // namespace

Cache::Cache() : lines_(static_cast<Line*>(reserved(kSlots * sizeof(Line)))) {}

Cache::~Cache() { munmap(lines_, kSlots * sizeof(Line)); }

void Cache::access(int thread, Place place, std::uintptr_t address, std::size_t bytes, Kind kind) {
  ++at(place).accesses;
  while (bytes > 0) {
    const std::uintptr_t offset = address % kLine;
    const std::size_t here = std::min<std::size_t>(bytes, kLine - offset);
    const std::uint64_t ones = here == kLine ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
    if (Line* const line = line_of(address / kLine + 1)) touch(*line, thread, place, ones << offset, kind);
    address += here;
    bytes -= here;
  }
}

Cache::Line* Cache::line_of(std::uintptr_t number) {
  std::size_t slot = (number * 0x9E3779B97F4A7C15ULL) >> 46;
  static_assert(kSlots == std::size_t{1} << 18, "a slot is the upper bits of a product");
  while (lines_[slot].number != number) {
    if (lines_[slot].number == 0) {
      if (overflowed()) return nullptr;
      ++used_;
      lines_[slot].number = number;
      break;
    }
    slot = (slot + 1) % kSlots;
  }
  return &lines_[slot];
}

void Cache::touch(Line& line, int thread, Place place, std::uint64_t bytes, Kind kind) {
  const auto me = static_cast<std::size_t>(thread);
  const unsigned mine = 1U << me;
  if ((line.holders & mine) == 0) {
    if ((line.known & mine) == 0) {
      ++at(place).cold_misses;
      line.news[me] = 0;  // a first miss carries whatever the line holds
    } else {
      line.undecided = static_cast<std::uint16_t>(line.undecided | mine);
      line.missed_at[me] = place;
    }
    line.known = static_cast<std::uint16_t>(line.known | mine);
    line.holders = static_cast<std::uint16_t>(line.holders | mine);
  }
  if ((line.undecided & mine) != 0 && (line.news[me] & bytes) != 0) {
    ++at(line.missed_at[me]).true_sharing;
    line.undecided = static_cast<std::uint16_t>(line.undecided & ~mine);
    line.news[me] = 0;
  }
  if (kind == Kind::read) return;
  each_thread(line.undecided & ~mine, [&](std::size_t other) { ++at(line.missed_at[other]).false_sharing; });
  line.undecided = static_cast<std::uint16_t>(line.undecided & mine);
  line.holders = static_cast<std::uint16_t>(mine);
  if (kind == Kind::failed_exchange) return;
  each_thread(line.known & ~mine, [&](std::size_t other) { line.news[other] |= bytes; });
}

std::array<ap_sharing_misses, kPlaces> Cache::counts() const {
  std::array<ap_sharing_misses, kPlaces> counts = counts_;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const Line& line = lines_[slot];
    if (line.number == 0) continue;
    each_thread(line.undecided,
                [&](std::size_t thread) { ++counts[static_cast<std::size_t>(line.missed_at[thread])].false_sharing; });
  }
  return counts;
}

}  // namespace allocpool::sharing
