#include "packets/places.hpp"

#include <algorithm>

namespace allocpool {

std::vector<Places::Place> Places::sorted() const {
  std::vector<Place> places = places_;
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.packet < b.packet; });
  return places;
}

std::vector<Places::Key> Places::each_once() const {
  std::vector<Key> packets;
  for (const Place& place : sorted()) {
    if (packets.empty() || packets.back() != place.packet) packets.push_back(place.packet);
  }
  return packets;
}

std::string Places::find_duplicate() const {
  const std::vector<Place> places = sorted();
  const auto twice = std::adjacent_find(places.begin(), places.end(),
                                        [](const Place& a, const Place& b) { return a.packet == b.packet; });
  if (twice == places.end()) return {};
  const auto name = [](const Place& p) { return std::string(p.where) + " slot " + std::to_string(p.index); };
  return "one packet is in two places: " + name(twice[0]) + " and " + name(twice[1]);
}

}  // namespace allocpool
