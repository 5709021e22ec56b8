#include "packets/slab_steps.hpp"

#include <array>
#include <sstream>
#include <utility>

#include "user_error.hpp"

namespace allocpool {
namespace {

constexpr const char* kContiguous = "contiguous";
constexpr std::array<std::pair<const char*, bool SlabSteps::*>, 4> kSwitches{{
    {"one_line", &SlabSteps::one_line},
    {"stride", &SlabSteps::stride},
    {"huge_pages", &SlabSteps::huge_pages},
    {"prefetch", &SlabSteps::prefetch},
}};

bool set(SlabSteps& steps, const std::string& name) {
  if (name == kContiguous) return true;
  for (const auto& [known, member] : kSwitches) {
    if (name == known) return steps.*member = true;
  }
  return false;
}

}  // namespace

const std::string& slab_step_names() {
  static const std::string kNames = [] {
    std::string joined = kContiguous;
    for (const auto& [name, member] : kSwitches) joined.append(",").append(name);
    return joined;
  }();
  return kNames;
}

SlabSteps parse_slab_steps(const char* names) {
  SlabSteps steps;
  std::istringstream stream(names == nullptr ? slab_step_names() : names);
  for (std::string name; std::getline(stream, name, ',');) {
    if (!set(steps, name)) throw UserError("unknown step '" + name + "': choose from " + slab_step_names());
  }
  return steps;
}

}  // namespace allocpool
