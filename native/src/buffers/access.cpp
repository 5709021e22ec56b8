#include "buffers/access.hpp"

#include <algorithm>
#include <cstring>

#include "buffers/touch.hpp"
#include "os/clock.hpp"

namespace allocpool::buffers {
namespace {

// Knuth's linear congruential generator of 64 bits (MMIX): one multiplication, so that what is measured is the write.
constexpr std::uint64_t kFactor = 6364136223846793005U;
constexpr std::uint64_t kStep = 1442695040888963407U;

void write(std::uint8_t* target, std::uint8_t*, std::size_t bytes, std::uint64_t pass) {
  for (std::size_t i = 0; i < bytes; ++i) target[i] = static_cast<std::uint8_t>(i + pass);
}

void write_at_random(std::uint8_t* target, std::uint8_t*, std::size_t bytes, std::uint64_t pass) {
  std::uint64_t state = pass;
  for (std::size_t i = 0; i < bytes; ++i) {
    state = state * kFactor + kStep;
    target[((state >> 33) * bytes) >> 31] = static_cast<std::uint8_t>(i + pass);
  }
}

void copy(std::uint8_t* target, std::uint8_t* source, std::size_t bytes, std::uint64_t pass) {
  source[pass % bytes] = static_cast<std::uint8_t>(pass + 1);
  std::memcpy(target, source, bytes);
}

}  // namespace

Access::Access(const std::string& operation, std::size_t bytes) : pass_(write), target_(bytes), source_(bytes) {
  if (operation == "random_write") {
    pass_ = write_at_random;
  } else if (operation == "copy") {
    pass_ = copy;
  } else if (operation != "write") {
    throw UserError("unknown operation '" + operation + "': choose one of write, random_write, copy");
  }
}

std::int64_t Access::run(std::int64_t duration_ns, std::int64_t iteration_ns, ap_buffers_iteration* out,
                         std::int64_t capacity) {
  const std::int64_t begin_ns = os::monotonic_ns();
  std::int64_t now_ns = begin_ns;
  std::int64_t used = 0;
  while (now_ns - begin_ns < duration_ns && used < capacity) {
    ap_buffers_iteration found{now_ns, 0, 0, 0, 0};
    do {
      pass_(target_.data(), source_.data(), target_.size(), passes_++);
      escape(target_.data());
      ++found.count;
      now_ns = os::monotonic_ns();
    } while (now_ns - found.start_ns < iteration_ns && now_ns - begin_ns < duration_ns);
    found.end_ns = now_ns;
    out[used++] = found;
  }
  return used;
}

std::uint64_t Access::checksum_after(std::int64_t passes) {
  std::fill(target_.begin(), target_.end(), std::uint8_t{0});
  std::fill(source_.begin(), source_.end(), std::uint8_t{0});
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    pass_(target_.data(), source_.data(), target_.size(), static_cast<std::uint64_t>(pass));
    escape(target_.data());
  }
  std::uint64_t sum = 0;
  for (const std::uint8_t byte : target_) sum = sum * 31 + byte;
  return sum;
}

}  // namespace allocpool::buffers
