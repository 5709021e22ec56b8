// The bounded single-producer single-consumer ring of tick numbers, and its layout in shared memory.
//
// A slot carries the number of its tick, so the consumer sees that a slot is fresh by looking at the slot alone, as
// in FastForward (Giacomoni, Moseley, Vachharajani, PPoPP 2008). No producer index is shared, whose line would bounce
// between the cores at every tick. Unlike FastForward the consumer does not clear slots: numbers only grow, so a slot
// is fresh exactly when it is greater than the last one consumed, and slots are written by one side alone. The
// consumer publishes how many ticks it has taken, in a line of its own; the producer reads that line only when, by
// what it last read there, the ring is full: once a lap when the consumer keeps up.
//
// Invariants
//   R1  slot[k % capacity] is written by the k-th push only, for k = 0, 1, ...; its value is tick number + 1, never 0.
//   R2  values grow strictly with k: every tick number is pushed at most once, in order; lost ones are skipped.
//   R3  pushed - consumed <= capacity. A push happens only after the consumer's count was seen (acquire) to allow it,
//       so a slot is overwritten only after the consumer, who publishes (release) after reading, is done with it.
//   R4  at consumer position k the slot holds push k (fresh: greater than the last consumed, by R2) or push
//       k - capacity (consumed) or 0 (first lap): "value > last" tells them apart.
//   R5  the logical capacity is the physical one, exactly: no slot is left free as a sentinel, none is rounded up.
//
// Shared layout. Words of 64 bits in native byte order, at these byte offsets; Java reads the same through a direct
// ByteBuffer. Each block has one writer and is 128 bytes, because prefetchers fetch lines in pairs.
//
//     0  layout     kLayout
//     8  capacity   in ticks
//    16  interval   in ns, as an IEEE 754 double; 0: the source saturates
//    24  t0_ns      due time of tick 0; tick i is due at t0 + i * interval; valid from state kRunning on
//    32  warmup     ticks numbered below this are warm-up
//    40  ticks      ticks to be generated in all
//   128  state      kIdle, kWaiting (for the consumer), kRunning, kFinished           written by the source
//   256  consumed   ticks taken by the consumer                                       written by the consumer
//   264  last       number + 1 of the last tick taken, 0 for none; written once, when the consumer leaves
//   384  ready      1 from when the consumer polls                                    written by the consumer
//   512  slot[0], slot[1], ... slot[capacity - 1]                                     written by the source
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "realtime/cpu.hpp"

namespace allocpool::realtime {

struct RingHeader {
  static constexpr std::size_t kBlockBytes = 128;
  static constexpr std::uint64_t kLayout = 0x414C4C4F43520001ULL;

  enum State : std::uint64_t { kIdle = 0, kWaiting = 1, kRunning = 2, kFinished = 3 };

  using Word = std::atomic<std::uint64_t>;

  alignas(kBlockBytes) Word layout;
  Word capacity;
  std::atomic<double> interval_ns;
  std::atomic<std::int64_t> t0_ns;
  Word warmup;
  Word ticks;
  alignas(kBlockBytes) Word state;
  alignas(kBlockBytes) Word consumed;
  Word last;
  alignas(kBlockBytes) Word ready;
};

static_assert(RingHeader::Word::is_always_lock_free && std::atomic<double>::is_always_lock_free,
              "shared words must be plain memory");
static_assert(sizeof(RingHeader::Word) == 8 && sizeof(std::atomic<double>) == 8, "Java reads words of 64 bits");
static_assert(offsetof(RingHeader, interval_ns) == 16 && offsetof(RingHeader, t0_ns) == 24 &&
                  offsetof(RingHeader, ticks) == 40 && offsetof(RingHeader, state) == 128 &&
                  offsetof(RingHeader, consumed) == 256 && offsetof(RingHeader, last) == 264 &&
                  offsetof(RingHeader, ready) == 384 &&
                  sizeof(RingHeader) == 512,
              "Java reads at these offsets");

// The ring over memory that somebody else owns, of at least ring_bytes(capacity) zeroed bytes.
class Ring {
 public:
  using Word = RingHeader::Word;

  // Java addresses a buffer with a signed 32-bit index. Both languages get the same limit.
  static constexpr std::int64_t kMaxCapacity =
      (std::numeric_limits<std::int32_t>::max() - static_cast<std::int64_t>(sizeof(RingHeader))) /
      static_cast<std::int64_t>(sizeof(Word));

  static constexpr std::size_t bytes(std::int64_t capacity) {
    return sizeof(RingHeader) + static_cast<std::size_t>(capacity) * sizeof(Word);
  }

  explicit Ring(void* memory)
      : header_(static_cast<RingHeader*>(memory)),
        slots_(reinterpret_cast<Word*>(static_cast<unsigned char*>(memory) + sizeof(RingHeader))) {}

  RingHeader& header() const { return *header_; }
  Word* slots() const { return slots_; }
  std::int64_t capacity() const {
    return static_cast<std::int64_t>(header_->capacity.load(std::memory_order_relaxed));
  }

  // Empties the ring for a run with another capacity. Neither side may be at work.
  void reset(std::int64_t capacity) {
    for (std::int64_t i = 0; i < capacity; ++i) slots_[i].store(0, std::memory_order_relaxed);
    header_->layout.store(RingHeader::kLayout, std::memory_order_relaxed);
    header_->capacity.store(static_cast<std::uint64_t>(capacity), std::memory_order_relaxed);
    header_->consumed.store(0, std::memory_order_relaxed);
    header_->last.store(0, std::memory_order_relaxed);
    header_->ready.store(0, std::memory_order_relaxed);
  }

 private:
  RingHeader* const header_;
  Word* const slots_;
};

// The producer's end. Used by one thread.
class RingWriter {
 public:
  explicit RingWriter(const Ring& ring)
      : slots_(ring.slots()), consumed_(ring.header().consumed), capacity_(ring.capacity()), limit_(capacity_) {}

  // Free slots, as far as known without asking the consumer's line again.
  std::int64_t known_room() const { return limit_ - pushed_; }

  // Free slots now.
  std::int64_t room() {
    limit_ = static_cast<std::int64_t>(consumed_.load(std::memory_order_acquire)) + capacity_;
    return limit_ - pushed_;
  }

  // Pushes a tick, whose number is greater than any before. False when the ring is full.
  [[nodiscard]] bool offer(std::int64_t tick) {
    if (pushed_ == limit_ && room() == 0) return false;
    push(tick);
    return true;
  }

  // Pushes a tick where known_room() > 0.
  void push(std::int64_t tick) {
    if (slot_ % kSlotsPerLine == 0) {
      prefetch_for_write(reinterpret_cast<std::uintptr_t>(slots_ + slot_) + kPrefetchBytes);
    }
    slots_[slot_].store(static_cast<std::uint64_t>(tick) + 1, std::memory_order_release);
    if (++slot_ == capacity_) slot_ = 0;
    ++pushed_;
  }

  std::int64_t pushed() const { return pushed_; }

 private:
  // The consumer has had every line that is written next, and stores wait for one line after the other to be taken from
  // it. Asking for lines ahead of time lets them overlap: 3.5 ns a tick became 1.0.
  static constexpr std::size_t kLineBytes = 64;
  static constexpr std::int64_t kSlotsPerLine = kLineBytes / sizeof(Ring::Word);
  static constexpr std::size_t kPrefetchBytes = 4 * kLineBytes;

  Ring::Word* const slots_;
  Ring::Word& consumed_;
  const std::int64_t capacity_;
  std::int64_t limit_;
  std::int64_t pushed_ = 0;
  std::int64_t slot_ = 0;
};

// The consumer's end. Used by one thread.
class RingReader {
 public:
  static constexpr std::int64_t kNone = -1;

  explicit RingReader(const Ring& ring)
      : slots_(ring.slots()), published_(ring.header().consumed), capacity_(ring.capacity()) {}

  // Takes up to `wanted` tick numbers into `out`, and returns how many there were. Their slots are free from then on,
  // all at once: while the ring is full the source looks at the count with every tick that it loses, and a line that
  // one core writes for every tick and the other reads as often made the consumer three times as slow.
  [[nodiscard]] std::size_t take(std::int64_t* out, std::size_t wanted) {
    // Copies: writes into `out` might reach the members, for all that a compiler knows.
    const Ring::Word* const slots = slots_;
    const std::int64_t capacity = capacity_;
    std::uint64_t last = last_;
    std::int64_t slot = slot_;
    std::size_t taken = 0;
    for (; taken < wanted; ++taken) {
      const std::uint64_t value = slots[slot].load(std::memory_order_acquire);
      if (value <= last) break;
      last = value;
      if (++slot == capacity) slot = 0;
      out[taken] = static_cast<std::int64_t>(value - 1);
    }
    if (taken > 0) {
      last_ = last;
      slot_ = slot;
      consumed_ += taken;
      published_.store(consumed_, std::memory_order_release);
    }
    return taken;
  }

  std::int64_t consumed() const { return static_cast<std::int64_t>(consumed_); }

 private:
  const Ring::Word* const slots_;
  Ring::Word& published_;
  const std::int64_t capacity_;
  std::uint64_t last_ = 0;
  std::uint64_t consumed_ = 0;
  std::int64_t slot_ = 0;
};

}  // namespace allocpool::realtime
