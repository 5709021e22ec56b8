// Layout `flat` with its packets from a std::pmr resource in place of `new`; with strategy `alloc` that is one packet from
// the resource for each message.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>

#include "os/memory.hpp"
#include "packets/layout_flat.hpp"

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
class FlatPmrLayout : public FlatLayout {
 public:
  explicit FlatPmrLayout(std::pmr::memory_resource* upstream = std::pmr::new_delete_resource()) : limited_(upstream) {}

  Handle construct() { return new (resource_.allocate(sizeof(Packet), alignof(Packet))) Packet; }

  void destroy(Handle packet) {
    packet->~Packet();
    resource_.deallocate(packet, sizeof(Packet), alignof(Packet));
  }

 private:
  LimitedResource limited_;
  Resource resource_{&limited_};
};

}  // namespace allocpool
