// Threads as the operating system knows them.
#pragma once

namespace allocpool::os {

// Number of processors, numbered from 0.
int processor_count();

// Ties the calling thread to one processor. False when the operating system refuses or has no such call.
bool pin_to_processor(int processor);

}  // namespace allocpool::os
