// A pool for buffers of any size: size classes, four to each power of two, each fed from slabs of one MiB out of one
// reserved region of memory. An empty slab serves any class again; nothing is ever given back to the system.
// Source of the scheme: Bonwick, "The slab allocator", USENIX Summer 1994; spacing of classes as in jemalloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allocpool::buffers {

class ClassSlab {
 public:
  static constexpr std::size_t kSlabBytes = std::size_t{1} << 20;
  static constexpr std::size_t kLargest = std::size_t{1} << 18;

  // Reserves address space; memory comes with the first touch. Throws std::bad_alloc.
  explicit ClassSlab(std::size_t reserved_bytes);
  ~ClassSlab();
  ClassSlab(const ClassSlab&) = delete;
  ClassSlab& operator=(const ClassSlab&) = delete;

  // 1 to kLargest bytes, aligned to 16. Throws std::bad_alloc when the reserve is used up.
  void* obtain(std::size_t bytes);
  void release(void* buffer);

  // Bytes of the slabs that were ever taken: what the pool keeps from the system.
  std::size_t taken_bytes() const { return taken_ * kSlabBytes; }

  // Bytes of a block that serves `bytes`.
  static std::size_t block_bytes(std::size_t bytes);

 private:
  struct Free {
    Free* next;
  };
  struct Slab {
    Slab* previous;
    Slab* next;
    Free* free;
    std::size_t size_class;
    std::size_t used;
    std::size_t untouched;  // blocks that were never handed out
  };

  static std::size_t class_of(std::size_t bytes);
  static std::size_t bytes_of(std::size_t size_class);
  static std::size_t blocks_of(std::size_t size_class);
  static char* block(Slab* slab, std::size_t number);
  Slab* fresh(std::size_t size_class);
  void link(Slab* slab);
  void unlink(Slab* slab);

  void* mapping_;
  std::size_t mapping_bytes_;
  char* base_;
  std::size_t capacity_;
  std::size_t taken_ = 0;
  std::vector<Slab*> open_;  // per class: slabs with a block to give
  std::vector<Slab*> empty_;
};

}  // namespace allocpool::buffers
