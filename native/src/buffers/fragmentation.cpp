#include "buffers/fragmentation.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "buffers/class_slab.hpp"
#include "buffers/cost_histogram.hpp"
#include "buffers/touch.hpp"
#include "os/allocator.hpp"
#include "os/clock.hpp"
#include "splitmix.hpp"

namespace allocpool::buffers {
namespace {

class FromMalloc {
 public:
  explicit FromMalloc(std::int64_t) {}

  static void* obtain(std::size_t bytes) {
    void* const buffer = std::malloc(bytes);
    if (buffer == nullptr) throw std::bad_alloc();
    return buffer;
  }
  static void release(void* buffer) { std::free(buffer); }
  static std::int64_t kept_bytes() { return os::allocated_bytes(); }
};

class FromSlabs {
 public:
  explicit FromSlabs(std::int64_t reserved_bytes) : slabs_(static_cast<std::size_t>(reserved_bytes)) {}

  void* obtain(std::size_t bytes) { return slabs_.obtain(bytes); }
  void release(void* buffer) { slabs_.release(buffer); }
  std::int64_t kept_bytes() const { return static_cast<std::int64_t>(slabs_.taken_bytes()); }

 private:
  ClassSlab slabs_;
};

constexpr std::int64_t kEmptyEvery = 8;

struct Buffer {
  char* memory;
  std::int64_t bytes;
};

// The tag of a buffer stands in its first eight bytes.
std::uint64_t tag_of(const Buffer& buffer) {
  std::uint64_t tag = 0;
  std::memcpy(&tag, buffer.memory, sizeof tag);
  return tag;
}

template <class Source>
class Churn final : public Fragmentation {
 public:
  Churn(std::int64_t max_buffers, std::int64_t reserved_bytes, std::uint64_t seed)
      : source_(reserved_bytes), seed_(seed), buffers_(static_cast<std::size_t>(max_buffers)) {}

  ~Churn() override {
    for (std::size_t i = 0; i < count_; ++i) source_.release(buffers_[i].memory);
  }
  Churn(const Churn&) = delete;
  Churn& operator=(const Churn&) = delete;

  std::int64_t run(const ap_phase& phase, std::int64_t number, ap_fragment_sample* out,
                   std::int64_t capacity) override {
    for (std::int64_t done = 0; done < capacity; ++done) {
      const std::int64_t until = allocated_ + phase.allocate_bytes / capacity;
      const std::int64_t operations_before = operations_;
      costs_.clear();
      empty_.clear();
      const std::int64_t start_ns = os::monotonic_ns();
      while (allocated_ < until) step(phase);
      const std::int64_t end_ns = os::monotonic_ns();
      out[done] = {number,          start_ns,     end_ns,          operations_ - operations_before,
                   allocated_,      live_bytes_,  static_cast<std::int64_t>(count_), costs_.at(500),
                   costs_.at(990),  costs_.max_ns(), os::resident_bytes(), source_.kept_bytes(),
                   empty_.at(500),  empty_.at(990)};
    }
    return capacity;
  }

  std::uint64_t checksum() const override {
    std::uint64_t sum = checksum_;
    for (std::size_t i = 0; i < count_; ++i) sum = fold(sum, tag_of(buffers_[i]), buffers_[i].bytes);
    return sum;
  }

  std::string audit() const override {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < count_; ++i) bytes += buffers_[i].bytes;
    return bytes == live_bytes_ ? "" : "the bytes alive are not those that were counted";
  }

 private:
  static std::uint64_t fold(std::uint64_t sum, std::uint64_t tag, std::int64_t bytes) {
    return sum * 0xD1342543DE82EF95U + (tag ^ static_cast<std::uint64_t>(bytes));
  }

  void step(const ap_phase& phase) {
    const std::uint64_t drawn = draw();
    const std::int64_t bytes = phase.sizes[drawn & static_cast<std::uint64_t>(phase.size_count - 1)];
    while (count_ > 0 && (live_bytes_ + bytes > phase.live_bytes || count_ == buffers_.size())) drop_one();
    const std::int64_t begin_ns = os::monotonic_ns();
    auto* const memory = static_cast<char*>(source_.obtain(static_cast<std::size_t>(bytes)));
    touch<Touch::page>(memory, static_cast<std::size_t>(bytes));
    costs_.add(os::monotonic_ns() - begin_ns);
    std::memcpy(memory, &drawn, sizeof drawn);
    buffers_[count_++] = {memory, bytes};
    live_bytes_ += bytes;
    allocated_ += bytes;
    if (operations_++ % kEmptyEvery == 0) {
      const std::int64_t empty_ns = os::monotonic_ns();
      empty_.add(os::monotonic_ns() - empty_ns);
    }
  }

  void drop_one() {
    const auto victim = static_cast<std::size_t>(((draw() >> 32) * count_) >> 32);
    const Buffer dropped = std::exchange(buffers_[victim], buffers_[count_ - 1]);
    --count_;
    checksum_ = fold(checksum_, tag_of(dropped), dropped.bytes);
    live_bytes_ -= dropped.bytes;
    source_.release(dropped.memory);
  }

  std::uint64_t draw() { return allocpool::draw(seed_, draws_++); }

  Source source_;
  const std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  std::vector<Buffer> buffers_;
  std::size_t count_ = 0;
  std::int64_t live_bytes_ = 0;
  std::int64_t allocated_ = 0;
  std::int64_t operations_ = 0;
  std::uint64_t checksum_ = 0;
  CostHistogram costs_;
  CostHistogram empty_;
};

}  // namespace

std::unique_ptr<Fragmentation> make_fragmentation(const std::string& technique, std::int64_t max_buffers,
                                                  std::int64_t reserved_bytes, std::uint64_t seed) {
  if (technique == "malloc") return std::make_unique<Churn<FromMalloc>>(max_buffers, reserved_bytes, seed);
  if (technique == "slab") return std::make_unique<Churn<FromSlabs>>(max_buffers, reserved_bytes, seed);
  throw UserError("unknown technique '" + technique + "': choose one of malloc, slab");
}

}  // namespace allocpool::buffers
