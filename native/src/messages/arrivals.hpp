// When messages of one thread are due, in nanoseconds from the start of a window.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "messages/message.hpp"
#include "messages/settings.hpp"
#include "messages/sizes.hpp"

namespace allocpool::messages {

class Arrivals {
 public:
  // Those of one window; `first` is the number of this thread's first message, `window` how many windows came before.
  Arrivals(const Settings& settings, const Sizes& sizes, std::size_t thread, std::uint64_t first, std::uint64_t window)
      : kind_(kind_of(settings.text("arrivals"), sizes)),
        sizes_(sizes),
        threads_(settings.count("threads")),
        begin_ns_(settings.number("interval_ns") * static_cast<double>(thread)),
        every_ns_(settings.number("interval_ns") * static_cast<double>(threads_)),
        length_(std::max<std::int64_t>(1, settings.whole("burst_length") / static_cast<std::int64_t>(threads_))),
        on_share_(settings.number("on_share")),
        scale_(settings.number("time_scale")),
        seed_(draw(static_cast<std::uint64_t>(settings.whole("seed")) ^ kPoissonFlip, window) + thread),
        number_(first),
        first_ns_(kind_ == Kind::captured ? sizes.captured_ns(first) : 0) {}

  // When the next one is due; never before the one before it.
  double next_ns() {
    const std::uint64_t ordinal = ordinal_++;
    switch (kind_) {
      case Kind::steady:
        return begin_ns_ + static_cast<double>(ordinal) * every_ns_;
      case Kind::on_off: {
        const auto length = static_cast<std::uint64_t>(length_);
        const std::uint64_t before = ordinal / length * length;
        return begin_ns_ + (static_cast<double>(before) + static_cast<double>(ordinal - before) * on_share_) * every_ns_;
      }
      case Kind::poisson:
        due_ns_ -= std::log(1 - unit(draw(seed_, ordinal))) * every_ns_;
        return due_ns_;
      case Kind::captured:
        break;
    }
    const double due_ns = static_cast<double>(sizes_.captured_ns(number_) - first_ns_) * scale_;
    number_ += threads_;
    return due_ns;
  }

 private:
  enum class Kind { steady, on_off, poisson, captured };
  static constexpr std::uint64_t kPoissonFlip = 0x50'4F49'5353'4F4EULL;

  static Kind kind_of(const std::string& name, const Sizes& sizes) {
    if (name == "steady") return Kind::steady;
    if (name == "on_off") return Kind::on_off;
    if (name == "poisson") return Kind::poisson;
    if (name == "captured" && sizes.has_trace()) return Kind::captured;
    throw UserError("unknown arrivals '" + name + "': choose one of steady, poisson, on_off, captured (with a trace)");
  }

  const Kind kind_;
  const Sizes& sizes_;
  const std::size_t threads_;
  const double begin_ns_;
  const double every_ns_;
  const std::int64_t length_;
  const double on_share_;
  const double scale_;
  const std::uint64_t seed_;
  std::uint64_t number_;
  const std::int64_t first_ns_;
  std::uint64_t ordinal_ = 0;
  double due_ns_ = 0;
};

}  // namespace allocpool::messages
