// Hints to the processor.
#pragma once

#include <cstdint>

namespace allocpool::realtime {

// In a loop that waits for another core.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Fetches the line at `address` to be written. Any address will do: a prefetch does not fault.
inline void prefetch_for_write(std::uintptr_t address) {
#if defined(__x86_64__)
  // Compilers only make this of __builtin_prefetch where the target is told to have it; 64-bit processors that have not
  // take it for a no-op.
  asm volatile("prefetchw (%0)" ::"r"(address));
#else
  __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
#endif
}

}  // namespace allocpool::realtime
