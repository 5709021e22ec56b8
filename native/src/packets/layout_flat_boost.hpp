// Layout `flat` with its packets from a boost::pool in place of `new`: a free list of blocks of one size, cut from ever
// larger pieces, which stay with the pool until its end. As its documentation has it for a single thread.
// Source: Boost.Pool, https://www.boost.org/doc/libs/release/libs/pool/
#pragma once

#include <boost/pool/pool.hpp>
#include <new>

#include "packets/layout_flat.hpp"

namespace allocpool {

class FlatBoostLayout : public FlatLayout {
 public:
  Handle construct() {
    void* const memory = pool_.malloc();
    if (memory == nullptr) throw std::bad_alloc();
    return new (memory) Packet;
  }

  void destroy(Handle packet) {
    packet->~Packet();
    pool_.free(packet);
  }

 private:
  boost::pool<boost::default_user_allocator_new_delete> pool_{sizeof(Packet)};
};

}  // namespace allocpool
