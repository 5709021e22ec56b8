// The memory allocator that serves this process, by its own counters.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allocpool::os {

// Bytes that the allocator set aside for this live pointer, at least what was asked for.
std::size_t usable_bytes(void* pointer);

// Bytes that the allocator counts as handed out and not yet given back, or -1 where it does not report it. glibc: mallinfo2;
// jemalloc: thread.allocated less thread.deallocated; tcmalloc: generic.current_allocated_bytes; mimalloc: blocks in use
// of the thread's heap.
std::int64_t allocated_bytes();

// Resident memory of this process, or -1 where the system does not report it.
std::int64_t resident_bytes();

}  // namespace allocpool::os
