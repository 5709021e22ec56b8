// Between C++ and C: what an exported function throws becomes a return code and one line for the caller. Every function
// of the C headers that can throw goes through one of these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "user_error.hpp"

namespace allocpool::c_api {

// What the enums of the headers say, by value.
enum class Code : int { ok = 0, fault = 1, invalid_argument = -1, out_of_memory = -2, failed = -3 };

// The caller's buffer for one line; null or empty where there is none.
struct Line {
  char* text = nullptr;
  std::size_t bytes = 0;

  // Copies `line`, cut to fit and NUL-terminated.
  void write(std::string_view line) const {
    if (text == nullptr || bytes == 0) return;
    const std::size_t length = std::min(line.size(), bytes - 1);
    std::memcpy(text, line.data(), length);
    text[length] = '\0';
  }
};

inline void require(bool holds, const char* line) {
  if (!holds) throw UserError(line);
}

// What a pointer of the caller's points to. Throws UserError where it points nowhere.
template <class Target>
[[nodiscard]] Target& at(Target* pointer) {
  require(pointer != nullptr, "a pointer is NULL that must not be");
  return *pointer;
}

// Does the work and says how it ended.
template <class Work>
[[nodiscard]] Code ended(Line line, const Work& work) noexcept {
  try {
    line.write("");
    work();
    return Code::ok;
  } catch (const UserError& error) {
    line.write(error.what());
    return Code::invalid_argument;
  } catch (const std::bad_alloc&) {
    line.write("out of memory: choose smaller sizes");
    return Code::out_of_memory;
  } catch (const std::exception& failure) {
    line.write(failure.what());
  } catch (...) {
    line.write("something was thrown that is no std::exception");
  }
  return Code::failed;
}

// For functions that return a status.
template <class Status, class Work>
[[nodiscard]] Status status(Line line, const Work& work) noexcept {
  return static_cast<Status>(ended(line, work));
}

// For audits: `find` returns the line that says what is wrong, or nothing.
template <class Status, class Find>
[[nodiscard]] Status audited(Line line, const Find& find) noexcept {
  bool has_fault = false;
  const Code code = ended(line, [&] {
    const std::string fault = find();
    has_fault = !fault.empty();
    line.write(fault);
  });
  return static_cast<Status>(has_fault ? Code::fault : code);
}

// For functions that return a number, which is not negative unless it is a code.
template <class Number, class Count>
[[nodiscard]] Number counted(Line line, const Count& count) noexcept {
  Number number{};
  const Code code = ended(line, [&] { number = count(); });
  return code == Code::ok ? number : static_cast<Number>(code);
}

// For functions that return a pointer, null where they failed.
template <class Make>
[[nodiscard]] auto made(Line line, const Make& make) noexcept {
  decltype(make()) pointer = nullptr;
  return ended(line, [&] { pointer = make(); }) == Code::ok ? pointer : nullptr;
}

}  // namespace allocpool::c_api
