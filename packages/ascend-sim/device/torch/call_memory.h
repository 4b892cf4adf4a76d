// SPDX-License-Identifier: Apache-2.0
// Where another process finds the memory of a call's tensors. It maps the files that aclrtMalloc
// takes memory from. Of any other memory that the device may use (the host's, mapped, imported) it
// gets a copy, and what it changes there is copied back.
#pragma once

#include <list>
#include <set>
#include <vector>

#include "../runtime/arena.h"

namespace npusim {

class CallMemory {
 public:
  CallMemory() = default;
  ~CallMemory();
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;

  // Throws Error when the host has no memory for a copy.
  Place place(uint8_t* first, size_t bytes);
  void copyBack() const;
  // The descriptors of all files that were named so far.
  const std::set<int>& files() const { return files_; }

 private:
  struct Copy {
    uint8_t* original;
    std::vector<uint8_t> before;
    uint8_t* shared;
  };
  Place copied(uint8_t* first, size_t bytes);

  std::list<Copy> copies_;
  std::set<int> files_;
};

}  // namespace npusim
