// SPDX-License-Identifier: Apache-2.0
// The options of the command line, which all tests have. Their names, defaults and meaning are the
// vendor's (CANN, HCCL performance tester, "Parameters").
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "element.h"

namespace hccl_test {

// The command line, which is the same in all processes, is wrong.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  uint32_t npus = 0;  // of this node; 0: all that there are
  uint64_t min_bytes = 64u << 20, max_bytes = 64u << 20;
  uint64_t step = 0, factor = 0;  // a factor of 0: steps
  bool has_step = false;
  int reduction = kSum;
  uint32_t root = 0;
  const Type* type = nullptr;
  uint64_t iterations = 20, warm_up = 5;
  bool check = true;
};

// Throws UsageError.
Options readOptions(int count, char** words);

}  // namespace hccl_test
