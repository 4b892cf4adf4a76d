// SPDX-License-Identifier: Apache-2.0
// Element types that only PyTorch computes with. The numbers are aclDataType's.
#pragma once

#include "../aclnn/number.h"

namespace npusim {

inline constexpr int kComplex64 = 16, kComplex128 = 17, kComplex32 = 33;

inline bool isComplex(DataType dtype) {
  const int code = static_cast<int>(dtype);
  return code == kComplex64 || code == kComplex128 || code == kComplex32;
}

// Whether the device's own operators read it.
inline bool isSimulated(DataType dtype) {
  const int code = static_cast<int>(dtype);
  return (code >= 0 && code <= 12 && code != 5) || dtype == DataType::Bfloat16;
}

inline size_t bytesOfElement(DataType dtype) {
  const int code = static_cast<int>(dtype);
  if (code == kComplex64) return 8;
  if (code == kComplex128) return 16;
  if (code == kComplex32) return 4;
  if (code >= 34 && code <= 41) return 1;  // 8-bit floats, and smaller ones, padded
  if (code == 29 || code == 30) return 1;  // int4 and uint1 travel packed in bytes
  return elementSize(dtype);
}

}  // namespace npusim
