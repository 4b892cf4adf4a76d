// SPDX-License-Identifier: Apache-2.0
// The numbers of the CANN ABI that torch_npu and this library have to agree on.
#pragma once

#include <cstdint>

namespace npusim {

enum class DataType : int32_t {
  Float = 0,
  Half = 1,
  Int8 = 2,
  Int32 = 3,
  Uint8 = 4,
  Int16 = 6,
  Uint16 = 7,
  Uint32 = 8,
  Int64 = 9,
  Uint64 = 10,
  Double = 11,
  Bool = 12,
  Bfloat16 = 27,
};

enum Status : int {
  kSuccess = 0,
  kInvalidParam = 100000,
  kOperatorNotFound = 100024,
  kNoEngine = 500002,
  kNotSupported = 200001,
  kInternalError = 500000,
  kInvalidDevice = 107001,
  kVectorCoreException = 507035,
  kDriverError = 507899,
  kAclnnNullPointer = 161001,
  kAclnnInvalidParam = 161002,
  kAclnnNoKernelPackage = 561112,
};

using Stream = void*;

}  // namespace npusim
