// SPDX-License-Identifier: Apache-2.0
// The data types that operators of the chip accept, where a public document says so: the file
// accepted_types in the folder of the chip's kernels. What no document tells is accepted.
#pragma once

#include <cstdint>

#include "../torch/instead.h"
#include "tensor.h"

namespace npusim {

// Refuses arguments of other types, as the first function of an operator does. `name` is the
// operator's, without aclnn.
int checkTypes(const char* name, const RawArgument* arguments, size_t count) noexcept;

const char* nameOfType(DataType type);  // as PyTorch names it
// Whether an operator takes a tensor of that type in that place; what no document tells is taken.
bool isAccepted(const char* name, size_t place, DataType type);

}  // namespace npusim
