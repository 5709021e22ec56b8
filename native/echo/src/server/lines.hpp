// Finds whole messages in what a connection has sent so far.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace allocpool::echo {

// A window of one message's size over the caller's memory. Bytes are appended at its end, whole messages are taken from
// its front.
class Lines {
 public:
  Lines(char* memory, std::size_t message_bytes) : memory_(memory), capacity_(message_bytes) {}

  char* end() const { return memory_ + filled_; }
  std::size_t room() const { return capacity_ - filled_; }
  const char* begin() const { return memory_; }

  // Bytes up to the last newline after `count` more have been written to end(); 0 when no message is whole yet.
  std::size_t append(std::size_t count) {
    const char* const fresh = end();
    filled_ += count;
    const auto last = std::find(std::make_reverse_iterator(fresh + count), std::make_reverse_iterator(fresh), '\n');
    return static_cast<std::size_t>(last.base() - memory_) * (last.base() != fresh ? 1 : 0);
  }

  // Messages in the first `count` bytes.
  std::size_t messages(std::size_t count) const {
    return static_cast<std::size_t>(std::count(memory_, memory_ + count, '\n'));
  }

  // Forgets the first `count` bytes.
  void take(std::size_t count) {
    filled_ -= count;
    std::memmove(memory_, memory_ + count, filled_);
  }

  // The window is full and holds no whole message: the one that is coming is too long.
  bool oversize() const { return filled_ == capacity_; }

 private:
  char* memory_;
  std::size_t capacity_;
  std::size_t filled_ = 0;
};

}  // namespace allocpool::echo
