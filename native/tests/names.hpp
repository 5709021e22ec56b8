// The comma-separated names that the API lists, one by one, and every layout with each of its strategies.
#pragma once

#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "packets/registry.hpp"

namespace allocpool::test {

inline std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  std::istringstream stream(names);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

inline std::vector<std::tuple<std::string, std::string>> combinations() {
  std::vector<std::tuple<std::string, std::string>> all;
  for (const std::string& layout : split(layout_names())) {
    for (const std::string& strategy : split(strategy_names_of(layout))) all.emplace_back(layout, strategy);
  }
  return all;
}

}  // namespace allocpool::test
