// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace hccl_test {

// Runs the test of `operation` in every process that mpirun has started, and prints its table in
// the first. Returns the exit code: 1 if a result was wrong.
int runTest(const char* operation, int count, char** words);

}  // namespace hccl_test
