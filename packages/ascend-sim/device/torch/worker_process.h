// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace npusim {

// Starts npusim_torch/worker.py with the Python of this process; returns the socket to it. Throws
// Error where it cannot be started.
int startWorkerProcess();

}  // namespace npusim
