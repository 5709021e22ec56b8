// Memories `pmr_pool` and `pmr_monotonic`: each object from a resource of std::pmr, which asks `new` for large pieces.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>
#include <string_view>

#include "os/memory.hpp"
#include "packets/memory_per_packet.hpp"

namespace allocpool {

// Passes on until half of the machine's memory is in use. A resource that never frees would otherwise run until
// the kernel ends the process.
class LimitedResource final : public std::pmr::memory_resource {
 public:
  explicit LimitedResource(std::pmr::memory_resource* upstream) : upstream_(upstream) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes > left_) throw std::bad_alloc();
    void* const memory = upstream_->allocate(bytes, alignment);
    left_ -= bytes;
    return memory;
  }

  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    left_ += bytes;
    upstream_->deallocate(memory, bytes, alignment);
  }

  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::pmr::memory_resource* const upstream_;
  std::size_t left_ = os::physical_memory_bytes() / 2;
};

template <class Resource>
struct Pmr : PerPacket {
  template <class Object>
  class Of {
   public:
    explicit Of(std::pmr::memory_resource* upstream = std::pmr::new_delete_resource()) : limited_(upstream) {}

    Object* construct() { return new (resource_.allocate(sizeof(Object), alignof(Object))) Object; }

    void destroy(Object* object) {
      object->~Object();
      resource_.deallocate(object, sizeof(Object), alignof(Object));
    }

   private:
    LimitedResource limited_;
    Resource resource_{&limited_};
  };
};

struct PmrPool : Pmr<std::pmr::unsynchronized_pool_resource> {
  static constexpr std::string_view kName = "pmr_pool";
};

struct PmrMonotonic : Pmr<std::pmr::monotonic_buffer_resource> {
  static constexpr std::string_view kName = "pmr_monotonic";
};

}  // namespace allocpool
