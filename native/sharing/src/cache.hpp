// A cache for each thread, of lines of 64 bytes and without end, kept coherent by invalidation: who writes to a line takes it
// from all others. So the only misses are cold ones and those that an invalidation caused.
//
// Which of these carry a value is decided when the line is lost again, by all that was touched in the meantime: one without is a
// useless miss, here false sharing. Source: Dubois, Skeppstedt, Ricciulli, Ramamurthy, Stenström, "The Detection and
// Elimination of Useless Misses in Multiprocessors", ISCA 1993, by bytes in place of words. Torrellas, Lam, Hennessy, "False
// Sharing and Spatial Locality in Multiprocessor Caches", IEEE Transactions on Computers 43(6), 1994, decide by the one word
// that misses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocpool_sharing.h"

namespace allocpool::sharing {

inline constexpr std::uintptr_t kLine = 64;
// Bits of a byte: what a line remembers of a thread.
inline constexpr int kMostThreads = 16;

// What the code was doing.
enum class Place : std::uint8_t { other, ring, pool, message };
inline constexpr std::size_t kPlaces = 4;

enum class Kind : std::uint8_t {
  read,
  write,
  exchange,        // reads and writes
  failed_exchange  // reads, and has taken the line for writing
};

class Cache {
 public:
  Cache();
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  void access(int thread, Place place, std::uintptr_t address, std::size_t bytes, Kind kind);

  // What was counted is forgotten, what is where stays.
  void forget_counts() { counts_ = {}; }

  // Misses so far. Those whose line was not lost again are decided by what was touched until now.
  std::array<ap_sharing_misses, kPlaces> counts() const;

  // Whether there were more lines than it has room for.
  bool overflowed() const { return used_ > kSlots / 4 * 3; }

 private:
  struct Line {
    std::uintptr_t number;  // its address over its size, plus one; 0: none
    std::uint16_t holders;
    std::uint16_t known;      // threads that ever had it
    std::uint16_t undecided;  // of the holders, those whose miss has not carried a value yet
    std::array<Place, kMostThreads> missed_at;
    std::array<std::uint64_t, kMostThreads> news;  // bytes that others wrote since the thread last got a value of the line
  };
  static constexpr std::size_t kSlots = std::size_t{1} << 18;

  Line* line_of(std::uintptr_t number);
  void touch(Line& line, int thread, Place place, std::uint64_t bytes, Kind kind);
  ap_sharing_misses& at(Place place) { return counts_[static_cast<std::size_t>(place)]; }

  Line* const lines_;
  std::size_t used_ = 0;
  std::array<ap_sharing_misses, kPlaces> counts_{};
};

}  // namespace allocpool::sharing
