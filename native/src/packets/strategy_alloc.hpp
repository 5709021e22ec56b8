// Strategy `alloc`: a fresh packet for every message, deleted when it is freed.
#pragma once

#include <cstdint>
#include <string_view>

namespace allocpool {

template <class Layout>
class AllocStrategy {
 public:
  using Handle = typename Layout::Handle;
  static constexpr bool kShared = false;

  AllocStrategy(Layout& layout, std::int64_t) : layout_(layout) {}

  class Run {
   public:
    explicit Run(AllocStrategy& owner) : owner_(owner) {}

    Handle obtain() {
      ++owner_.constructed_;
      return owner_.layout_.construct();
    }

    void give_back(Handle packet) {
      ++owner_.discarded_;
      owner_.layout_.destroy(packet);
    }

   private:
    AllocStrategy& owner_;
  };

  std::int64_t constructed() const { return constructed_; }
  std::int64_t discarded() const { return discarded_; }

  template <class Visit>
  void each_pooled(Visit) const {}

 private:
  Layout& layout_;
  std::int64_t constructed_ = 0;
  std::int64_t discarded_ = 0;
};

struct Alloc {
  static constexpr std::string_view kName = "alloc";
  static constexpr bool kPooled = false;
  static constexpr bool kConstructs = true;
  template <class Layout>
  using With = AllocStrategy<Layout>;
};

}  // namespace allocpool
