// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../torch/instead.h"

namespace npusim {

// kSuccess, or the error of an operator whose output has too narrow a type.
int checkPromotion(const char* name, const RawArgument* arguments, size_t count) noexcept;

}  // namespace npusim
