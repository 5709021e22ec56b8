// A message: what describes it, and its bytes behind that, from one call of malloc. Its first word is its number, the others
// follow from a key and their place, so that a message that was handed out too early is found wherever it is read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "splitmix.hpp"

namespace allocpool::messages {

inline constexpr std::int64_t kWordBytes = 8;

struct Message {
  std::int64_t capacity;
  std::int64_t length;
  void* results;  // what reading it made: blocks whose first word leads to the next, dropped with it

  static Message* make(std::int64_t capacity) {
    void* const memory = std::malloc(sizeof(Message) + static_cast<std::size_t>(capacity));
    if (memory == nullptr) throw std::bad_alloc();
    return new (memory) Message{capacity, 0, nullptr};
  }

  static void drop(Message* message) {
    message->drop_results();
    std::free(message);
  }

  void add_result(std::size_t bytes) {
    void* const made = std::malloc(bytes);
    if (made == nullptr) throw std::bad_alloc();
    std::memset(made, 0, bytes);  // as Java has it
    std::memcpy(made, &results, sizeof results);
    results = made;
  }

  void drop_results() {
    while (results != nullptr) {
      void* next;
      std::memcpy(&next, results, sizeof next);
      std::free(results);
      results = next;
    }
  }

  unsigned char* bytes() { return reinterpret_cast<unsigned char*>(this + 1); }
  const unsigned char* bytes() const { return reinterpret_cast<const unsigned char*>(this + 1); }

  std::uint64_t word(std::int64_t place) const {
    std::uint64_t value;
    std::memcpy(&value, bytes() + place * kWordBytes, sizeof value);
    return value;
  }

  // Writes the number, and words from 1 to before `words`.
  void fill(std::uint64_t number, std::uint64_t key, std::int64_t words) {
    put(0, number);
    for (std::int64_t i = 1; i < words; ++i) put(i, key + static_cast<std::uint64_t>(i) * kGoldenGamma);
  }

  // The sum of the words from `from` to before `to`.
  std::uint64_t sum(std::int64_t from, std::int64_t to) const {
    std::uint64_t sum = 0;
    for (std::int64_t i = from; i < to; ++i) sum += word(i);
    return sum;
  }

  void clear(std::int64_t count) { std::memset(bytes(), 0, static_cast<std::size_t>(count)); }

 private:
  void put(std::int64_t place, std::uint64_t value) { std::memcpy(bytes() + place * kWordBytes, &value, sizeof value); }
};

// The sum that words 1 to before `words` of a message with this key have.
inline std::uint64_t sum_of(std::uint64_t key, std::int64_t words) {
  const auto count = static_cast<std::uint64_t>(words - 1);
  return count * key + kGoldenGamma * (count * (count + 1) / 2);
}

// What one message adds to a checksum.
inline std::uint64_t hash(std::uint64_t number, std::uint64_t sum, std::int64_t length) {
  return draw(sum, number ^ static_cast<std::uint64_t>(length) << 40);
}

// Words of a message of which a share is touched: at least its number and one more.
inline std::int64_t touched(std::int64_t length, double share) {
  const auto words = static_cast<double>(length / kWordBytes);
  return std::max<std::int64_t>(2, static_cast<std::int64_t>(words * share));
}

// From 0 to below 1.
inline double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// From 0 to `count` less one.
inline std::size_t place_of(std::uint64_t bits, std::size_t count) {
  return static_cast<std::size_t>((bits >> 32) * count >> 32);
}

}  // namespace allocpool::messages
