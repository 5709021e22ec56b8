// The ladder from flat to slab: each step is a switch, so that what it buys can be measured.
#pragma once

#include <string>

namespace allocpool {

// `contiguous` is what makes a slab, and so is not a switch.
struct SlabSteps {
  bool one_line = false;    // header and parse result in one cache line, the rest of the buffer elsewhere
  bool stride = false;      // headers spread over all cache sets, not 1024 bytes apart
  bool huge_pages = false;  // the region on huge pages, where the kernel grants them
  bool prefetch = false;    // what will be touched soon is fetched before
};

// Comma-separated names in the order of the ladder, "contiguous" first.
const std::string& slab_step_names();

// Reads comma-separated names; null means all. Throws UserError that names the valid ones.
SlabSteps parse_slab_steps(const char* names);

}  // namespace allocpool
