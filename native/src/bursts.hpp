// Packets as they arrive, some at a time: what whoever works on them needs to know of where they come from.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allocpool {

// Sequence numbers of packets that wait.
struct Burst {
  const std::int64_t* sequences;
  std::size_t count;
};

class Bursts {
 public:
  // The next burst, once there is one; without packets at the end. The call also says that the work on the burst before
  // it is done, whose numbers are gone with it.
  [[nodiscard]] virtual Burst next() = 0;

 protected:
  ~Bursts() = default;
};

}  // namespace allocpool
