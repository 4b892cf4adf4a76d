// SPDX-License-Identifier: Apache-2.0
// The operations of HCCL that have a test, as rows of one table.
#pragma once

#include <cstdint>
#include <string>

#include "options.h"

namespace hccl_test {

// One operation on one amount of data. A block is what one rank sends to one other.
struct Case {
  const Options* options;
  uint32_t rank, ranks;
  uint64_t block;  // elements
  void *send, *receive, *comm, *stream;
};

struct Operation {
  const char* name;
  bool sends_blocks, receives_blocks;  // one for each rank, not one alone
  bool reduces;
  bool at_root;   // only the root has a result
  bool in_place;  // the result is where the data was
  int (*call)(const Case& c);
  double (*expected)(const Case& c, uint64_t index);
};

// Throws UsageError.
const Operation& findOperation(const std::string& name);

}  // namespace hccl_test
