// SPDX-License-Identifier: Apache-2.0
// One test; the Makefile says of which operation.
#include "run.h"

int main(int count, char** words) { return hccl_test::runTest(OPERATION, count, words); }
