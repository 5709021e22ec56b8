// How long each message is and what it holds, by its number: drawn, or as a trace has it.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "messages/message.hpp"
#include "messages/settings.hpp"

namespace allocpool::messages {

// Of a message in a trace.
struct Record {
  std::int64_t time_ns;  // since the first
  std::int64_t fold;     // of its bytes
  std::int32_t length;
  std::int32_t nothing;
};
static_assert(sizeof(Record) == 24);

class Sizes {
 public:
  // The trace stays the caller's.
  Sizes(const Settings& settings, const void* trace, std::size_t trace_bytes)
      : seed_(static_cast<std::uint64_t>(settings.whole("seed"))),
        lengths_(settings.wholes("sizes")),
        thresholds_(settings.wholes("thresholds")),
        others_(settings.wholes("others")),
        trace_(static_cast<const unsigned char*>(trace)),
        traced_(trace_bytes / sizeof(Record)) {
    if (trace_ != nullptr && traced_ == 0) throw UserError("a trace without a message");
  }

  std::uint64_t drawn(std::uint64_t number) const { return draw(seed_, number); }

  // Bytes of a message whose draw this is: Walker's alias method.
  std::int64_t length(std::uint64_t number, std::uint64_t drawn) const {
    if (trace_ != nullptr) return record(number).length;
    if (lengths_.size() == 1) return lengths_.front();
    const std::size_t place = place_of(drawn, lengths_.size());
    const bool is_taken = static_cast<std::int64_t>(drawn & 0xFFFFFFFFU) < thresholds_[place];
    return lengths_[is_taken ? place : static_cast<std::size_t>(others_[place])];
  }

  // What the content of a message follows from.
  std::uint64_t key(std::uint64_t number, std::uint64_t drawn) const {
    const std::uint64_t key = draw(drawn, 0);
    return trace_ == nullptr ? key : key ^ static_cast<std::uint64_t>(record(number).fold);
  }

  // When a message was captured, since the first; a trace begins again where it ends.
  std::int64_t captured_ns(std::uint64_t number) const {
    const auto lap = static_cast<std::int64_t>(number / traced_);
    const std::int64_t span_ns = record(traced_ - 1).time_ns;
    // As if the first came as long after the last as messages are apart in the mean.
    const std::int64_t lap_ns = traced_ == 1 ? 1 : span_ns + span_ns / static_cast<std::int64_t>(traced_ - 1);
    return record(number).time_ns + lap * lap_ns;
  }

  bool has_trace() const { return trace_ != nullptr; }

 private:
  Record record(std::uint64_t number) const {
    Record found;
    std::memcpy(&found, trace_ + number % traced_ * sizeof(Record), sizeof found);
    return found;
  }

  const std::uint64_t seed_;
  const std::vector<std::int64_t> lengths_;
  const std::vector<std::int64_t> thresholds_;
  const std::vector<std::int64_t> others_;
  const unsigned char* const trace_;
  const std::size_t traced_;
};

}  // namespace allocpool::messages
