// SPDX-License-Identifier: Apache-2.0
// A process of its own that carries out operators with PyTorch: one for each process that uses the
// device, started when the first such operator is planned. It has an interpreter of its own, so an
// operator never waits for the lock of the program's interpreter, whose holder may be waiting for
// this very operator.
#pragma once

#include "torch_operators.h"

namespace npusim {

// Whether there is a Python that could be started: that of this process.
bool hasPython();

// Starts the worker; throws Error where PyTorch cannot carry out operators, with the reason.
void requireWorker(const std::string& name);

// Calls npusim_torch.calls.run(name, arguments, attributes) there; throws Error with its message.
FoundShapes callWorker(const std::string& name, const std::vector<Value>& arguments,
                       const std::vector<NamedValue>& attributes);

}  // namespace npusim
