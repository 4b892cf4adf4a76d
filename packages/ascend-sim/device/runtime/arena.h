// SPDX-License-Identifier: Apache-2.0
// Where device memory comes from: anonymous files, mapped shared, so that another process can map
// a piece of it too (aclrtIpcMem*).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace npusim {

// Where an address lies: in which file, and how far from its start.
struct Place {
  int file;
  size_t offset;
  size_t bytes;  // from there to the end of the allocation
};

// Not safe for use by several threads at once.
class Arena {
 public:
  static constexpr size_t kAlignment = 512;

  void* allocate(size_t bytes);  // null when the host has no more
  void release(void* memory);    // of an address that allocate() gave
  bool locate(const void* address, Place* place) const;

 private:
  struct Segment;
  Segment* segmentOf(const void* address) const;
  Segment* grow(size_t bytes);
  std::vector<std::shared_ptr<Segment>> segments_;
};

}  // namespace npusim
