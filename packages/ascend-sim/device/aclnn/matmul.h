// SPDX-License-Identifier: Apache-2.0
// The product of two matrices, for operators of the older interface.
#pragma once

#include "tensor.h"

namespace npusim {

// `bias` may be null. The matrices, or batches of them, are real.
void storeProduct(const Tensor& a, const Tensor& b, const Tensor* bias, const Tensor& out);

}  // namespace npusim
