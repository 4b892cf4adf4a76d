// SPDX-License-Identifier: Apache-2.0
// e to the power of many numbers at once.
#pragma once

#include <cstdint>

namespace npusim {

// Replaces each of `count` numbers by e to its power, within 2 units of the last place of a double.
void exponentials(double* values, int64_t count);

}  // namespace npusim
