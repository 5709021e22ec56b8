// What is done with a buffer's memory right after it was obtained: the cost of a page that is never touched is not the
// cost of a page that is.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

#include "user_error.hpp"

namespace allocpool::buffers {

enum class Touch { none, first, page, zero };

constexpr std::size_t kPageBytes = 4096;

inline Touch touch_named(const std::string& name) {
  if (name == "none") return Touch::none;
  if (name == "first") return Touch::first;
  if (name == "page") return Touch::page;
  if (name == "zero") return Touch::zero;
  throw UserError("unknown touch '" + name + "': choose one of none, first, page, zero");
}

// Hides from the compiler where a pointer came from: it must neither join malloc and memset into calloc nor see that
// nobody reads what was written.
inline void escape(void* pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

template <Touch kTouch>
inline void touch(void* buffer, std::size_t bytes) {
  auto* const memory = static_cast<volatile char*>(buffer);
  if constexpr (kTouch == Touch::first) {
    memory[0] = 1;
  } else if constexpr (kTouch == Touch::page) {
    for (std::size_t at = 0; at < bytes; at += kPageBytes) memory[at] = 1;
  } else if constexpr (kTouch == Touch::zero) {
    std::memset(buffer, 0, bytes);
  }
  escape(buffer);
}

}  // namespace allocpool::buffers
