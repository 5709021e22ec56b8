#include "buffers/allocation.hpp"

namespace allocpool::buffers {
namespace {

template <class Source>
std::unique_ptr<Allocation> with_touch(Touch touch, std::size_t bytes, std::size_t slots) {
  switch (touch) {
    case Touch::none:
      return std::make_unique<AllocationRounds<Source, Touch::none>>(bytes, slots);
    case Touch::first:
      return std::make_unique<AllocationRounds<Source, Touch::first>>(bytes, slots);
    case Touch::page:
      return std::make_unique<AllocationRounds<Source, Touch::page>>(bytes, slots);
    case Touch::zero:
      break;
  }
  return std::make_unique<AllocationRounds<Source, Touch::zero>>(bytes, slots);
}

}  // namespace

std::unique_ptr<Allocation> make_allocation(const std::string& strategy, const std::string& touch, std::size_t bytes,
                                            std::size_t slots) {
  const Touch how = touch_named(touch);
  if (strategy == "alloc") return with_touch<Malloc>(how, bytes, slots);
  if (strategy == "pool") return with_touch<MallocPool>(how, bytes, slots);
  throw UserError("unknown strategy '" + strategy + "': choose one of alloc, pool");
}

}  // namespace allocpool::buffers
