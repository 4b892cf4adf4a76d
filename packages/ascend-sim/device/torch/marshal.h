// SPDX-License-Identifier: Apache-2.0
// One call as the worker reads it: Python's marshal format, in the part that all versions share.
#pragma once

#include <string>
#include <vector>

#include "call_memory.h"
#include "torch_operators.h"

namespace npusim {

// (name, arguments, attributes, the files that are sent with it). A tensor is a tuple: where it
// lies, its data type, shape and strides. Places come from `memory`; throws Error where a tensor is
// not in the device's memory.
std::string marshalled(const std::string& name, const std::vector<Value>& arguments,
                       const std::vector<NamedValue>& attributes, CallMemory& memory);

// The same for the numbers of the files that go with a call, which are known last.
std::string marshalled(const std::vector<int>& files);

}  // namespace npusim
