// SPDX-License-Identifier: Apache-2.0
// An operation of ATB: a name and a function of its inputs and outputs.
#pragma once

#include <functional>
#include <vector>

#include "tensor.h"

namespace atb {

struct Arguments {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;

  Rows input(size_t index) const { return Rows(at(inputs, index)); }
  Rows output(size_t index) const { return Rows(at(outputs, index)); }

 private:
  static const Tensor& at(const std::vector<Tensor>& tensors, size_t index);
};

// Throws Error for arguments that it cannot take.
using Compute = std::function<void(const Arguments&)>;

struct Description {
  const char* name;
  uint32_t inputs;
  uint32_t outputs;
  Compute compute;
};

Status create(Operation** operation, Description description);

// Ends the creation of an operation for what only real kernels do.
void requireSimulated(bool simulated, const char* what);

}  // namespace atb

// Makes the function by which torch_npu creates an operation of Param.
#define NPUSIM_ATB_OPERATION(Param, describe)                                               \
  template <>                                                                               \
  __attribute__((visibility("default"))) atb::Status atb::CreateOperation<Param>(           \
      const Param& param, atb::Operation** operation) {                                     \
    return npusim::guarded([&] { atb::create(operation, describe(param)); });               \
  }
