// SPDX-License-Identifier: Apache-2.0
// The Python of this process, if there is one. Its functions are looked up by name, so this library
// needs no headers of Python and fits every version.
#pragma once

#include <memory>

#include "torch_operators.h"

namespace npusim {

// Loads the Python module when it is first needed; throws when PyTorch cannot carry out operators
// here.
void requirePython(const std::string& name);
bool hasPython();

// Held by a call that is planned and not yet done: Python does not end before it, for some seconds.
std::shared_ptr<void> heldByPlan();

// Calls npusim_torch.run(name, arguments, attributes); throws what it reports.
FoundShapes callPython(const std::string& name, const std::vector<Value>& arguments,
                       const std::vector<NamedValue>& attributes);

}  // namespace npusim
