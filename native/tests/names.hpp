// The comma-separated names that the API lists, one by one.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace allocpool::test {

inline std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  std::istringstream stream(names);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

}  // namespace allocpool::test
