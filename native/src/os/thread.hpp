// Threads as the operating system knows them.
#pragma once

#include <cstdint>

namespace allocpool::os {

// Number of processors, numbered from 0.
int processor_count();

// Ties the calling thread to one processor. False when the operating system refuses or has no such call.
bool pin_to_processor(int processor);

// Processor that the calling thread is on just now; -1 where the operating system does not report it.
int current_processor();

// Names the calling thread, at most 15 characters, for whoever lists threads. Nothing where that can't be done.
void name_this_thread(const char* name);

// CPU time that the calling thread has used since it began, in nanoseconds.
std::int64_t this_thread_cpu_ns();

}  // namespace allocpool::os
