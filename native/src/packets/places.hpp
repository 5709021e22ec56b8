// Where packets are, whatever a packet is to its layout: for the audit, and so that each is given back once at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace allocpool {

class Places {
 public:
  // An address, or an index.
  using Key = std::uintptr_t;

  void add(Key packet, const char* where, std::size_t index) { places_.push_back({packet, where, index}); }

  // Every packet, however many places it is in.
  [[nodiscard]] std::vector<Key> each_once() const;

  // One line on a packet that is in two places; empty when none is.
  [[nodiscard]] std::string find_duplicate() const;

 private:
  struct Place {
    Key packet;
    const char* where;
    std::size_t index;
  };

  std::vector<Place> sorted() const;

  std::vector<Place> places_;
};

}  // namespace allocpool
