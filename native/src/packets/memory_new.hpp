// Memory `new`: each object by itself, from whatever allocator the process was started with.
//
// What a memory says (see registry.cpp): its name; whether it gives objects one by one, and then the class Of<Object> that
// constructs and destroys them, or one region for all, the class Whole; and whether these can be aligned to a cache line.
#pragma once

#include <string_view>

namespace allocpool {

struct New {
  static constexpr std::string_view kName = "new";
  static constexpr bool kGivesObjects = true;
  static constexpr bool kAligns = true;

  template <class Object>
  class Of {
   public:
    Object* construct() { return new Object; }
    void destroy(Object* object) { delete object; }
  };
};

}  // namespace allocpool
