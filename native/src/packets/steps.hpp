// The ladder from a buffer by itself to packets laid out for the caches: each step is a switch, so that what it buys can
// be measured.
#pragma once

#include <string>
#include <string_view>

namespace allocpool {

// Without any, each buffer is an allocation of its own. `contiguous` makes a slab, and so is not a switch.
struct Steps {
  bool inline_buffer = false;  // the buffer is a part of its packet
  bool one_line = false;       // header and parse result in one cache line
  bool stride = false;         // headers spread over all cache sets
  bool huge_pages = false;     // the region on huge pages, where the kernel grants them
  bool prefetch = false;       // what will be touched soon is fetched before

  bool operator==(const Steps& other) const {
    return inline_buffer == other.inline_buffer && one_line == other.one_line && stride == other.stride &&
           huge_pages == other.huge_pages && prefetch == other.prefetch;
  }
};

// What a layout has of them, comma-separated names: those that it is never without, those that can be chosen, and
// whether these are on unless some are named. `rests_on` holds pairs "step:needed".
struct Ladder {
  std::string_view always;
  std::string_view choice;
  bool all_on;
  std::string_view rests_on;
};

// Comma-separated names in the order of the ladder.
const std::string& step_names();

// Reads comma-separated names; null means the layout's own. Throws UserError that names the valid ones.
Steps parse_steps(std::string_view layout, const Ladder& ladder, const char* names);

}  // namespace allocpool
