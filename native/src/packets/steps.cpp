#include "packets/steps.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>
#include <vector>

#include "user_error.hpp"

namespace allocpool {
namespace {

constexpr std::array<std::pair<std::string_view, bool Steps::*>, 6> kLadder{{
    {"inline", &Steps::inline_buffer},
    {"contiguous", nullptr},
    {"one_line", &Steps::one_line},
    {"stride", &Steps::stride},
    {"huge_pages", &Steps::huge_pages},
    {"prefetch", &Steps::prefetch},
}};

using Names = std::vector<std::string>;

Names split(std::string_view names, char at) {
  Names parts;
  std::istringstream stream{std::string(names)};
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

bool among(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string joined(const Names& names) {
  std::string all;
  for (const std::string& name : names) all.append(all.empty() ? "" : ",").append(name);
  return all;
}

}  // namespace

const std::string& step_names() {
  static const std::string kNames = [] {
    Names names;
    for (const auto& [name, member] : kLadder) names.emplace_back(name);
    return joined(names);
  }();
  return kNames;
}

Steps parse_steps(std::string_view layout, const Ladder& ladder, const char* names) {
  const Names always = split(ladder.always, ','), choice = split(ladder.choice, ',');
  Names valid = always;
  valid.insert(valid.end(), choice.begin(), choice.end());
  const Names asked = names != nullptr ? split(names, ',') : ladder.all_on ? choice : Names();
  for (const std::string& name : asked) {
    if (!among(valid, name)) {
      throw UserError("unknown step of layout " + std::string(layout) + " '" + name + "': choose from " +
                      joined(valid));
    }
  }
  for (const std::string& pair : split(ladder.rests_on, ',')) {
    const Names both = split(pair, ':');
    if (among(asked, both[0]) && !among(asked, both[1])) {
      throw UserError("step " + both[0] + " of layout " + std::string(layout) + " rests on " + both[1] + ": add " +
                      both[1]);
    }
  }
  Steps steps;
  for (const auto& [name, member] : kLadder) {
    if (member != nullptr) steps.*member = among(asked, std::string(name));
  }
  return steps;
}

}  // namespace allocpool
