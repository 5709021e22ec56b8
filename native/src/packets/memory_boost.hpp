// Memory `boost_pool`: each object from a boost::pool: a free list of blocks of one size, cut from ever larger pieces,
// which stay with the pool until its end. As its documentation has it for a single thread.
// Source: Boost.Pool, https://www.boost.org/doc/libs/release/libs/pool/
#pragma once

#include <boost/pool/pool.hpp>
#include <new>
#include <string_view>

#include "packets/memory_per_packet.hpp"

namespace allocpool {

struct BoostPool : PerPacket {
  static constexpr std::string_view kName = "boost_pool";

  template <class Object>
  class Of {
   public:
    Object* construct() {
      void* const memory = pool_.malloc();
      if (memory == nullptr) throw std::bad_alloc();
      return new (memory) Object;
    }

    void destroy(Object* object) {
      object->~Object();
      pool_.free(object);
    }

   private:
    boost::pool<boost::default_user_allocator_new_delete> pool_{sizeof(Object)};
  };
};

}  // namespace allocpool
