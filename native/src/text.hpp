// One line for the caller's buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace allocpool {

// Copies `text`, cut to fit and NUL-terminated. A null or empty buffer is allowed.
inline void copy_line(std::string_view text, char* out, std::size_t out_bytes) {
  if (out == nullptr || out_bytes == 0) return;
  const std::size_t length = std::min(text.size(), out_bytes - 1);
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

}  // namespace allocpool
