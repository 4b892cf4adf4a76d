// SPDX-License-Identifier: Apache-2.0
// Calls between HcclGroupStart and HcclGroupEnd, which are carried out together: two ranks can then
// both send before they receive. A group is the process's, as in the vendor's library (hcomm,
// docs of HcclGroupStart).
#pragma once

#include <functional>
#include <vector>

#include "communicator.h"

namespace npusim {

// Submits an operation to its stream, now or at the end of the group.
void issue(Stream stream, std::function<void()> operation);

// The same of messages; all those of a communicator become one transfer.
void issueMessages(void* comm, Stream stream, const std::vector<Part>& sends,
                   const std::vector<Part>& receives);

}  // namespace npusim
