// The comma-separated names that the API lists, one by one, and how a test of one combination is called.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "packets/registry.hpp"

namespace allocpool::test {

inline std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  std::istringstream stream(names);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

inline std::string name_of(const Combination& combination) {
  std::string name;
  for (const std::string_view part : {combination.layout, combination.strategy, combination.memory}) {
    name.append(name.empty() ? "" : "_").append(part);
  }
  return name;
}

}  // namespace allocpool::test
