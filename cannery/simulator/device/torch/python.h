// SPDX-License-Identifier: Apache-2.0
// The Python of this process, if there is one. Its functions are looked up by name, so this library
// needs no headers of Python and fits every version.
#pragma once

#include "torch_operators.h"

namespace npusim {

// Throws when operators cannot be carried out by PyTorch here.
void requirePython(const std::string& name);
bool hasPython();

// Calls npusim_torch.run(name, arguments, attributes); throws what it reports.
FoundShapes callPython(const std::string& name, const std::vector<Value>& arguments,
                       const std::vector<NamedValue>& attributes);

}  // namespace npusim
