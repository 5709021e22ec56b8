// Strategy `dummy`: one packet is handed out always and never taken back. What it costs is the cost of the test itself.
//
// What a strategy says (see registry.cpp): its name; whether packets wait in a pool, whether it constructs packets after
// the start, and the class With<Layout>.
//
// What that class gives (see Processor): a Run with obtain and give_back; the number of packet objects made before the
// start, and made and dropped after it; each_pooled, which visits the packets that wait to be handed out, for the audit and
// for the end.
#pragma once

#include <cstdint>
#include <string_view>

#include "packets/workload.hpp"

namespace allocpool {

template <class Layout>
class DummyStrategy {
 public:
  using Handle = typename Layout::Handle;
  static constexpr bool kShared = true;  // one packet stands for all: the audit has nothing to tell apart

  DummyStrategy(Layout& layout, const Stock&) : packet_(layout.construct()) {}

  class Run {
   public:
    explicit Run(DummyStrategy& owner) : packet_(owner.packet_) {}

    Handle obtain() { return packet_; }
    void give_back(Handle) {}

   private:
    const Handle packet_;
  };

  std::int64_t prepared() const { return 1; }
  std::int64_t constructed() const { return 0; }
  std::int64_t discarded() const { return 0; }

  template <class Visit>
  void each_pooled(Visit visit) const {
    visit(packet_);
  }

 private:
  const Handle packet_;
};

struct Dummy {
  static constexpr std::string_view kName = "dummy";
  static constexpr bool kPooled = false;
  static constexpr bool kConstructs = false;
  template <class Layout>
  using With = DummyStrategy<Layout>;
};

}  // namespace allocpool
