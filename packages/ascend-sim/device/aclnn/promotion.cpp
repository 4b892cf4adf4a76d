// SPDX-License-Identifier: Apache-2.0
// CANN plans no sum, difference or product of a type that the output's cannot stand for: real
// numbers do not become integers, nor complex ones real.
#include "promotion.h"

#include <cstring>

#include "../torch/element_types.h"
#include "tensor.h"

namespace npusim {
namespace {

bool isArithmetic(const char* name) {
  for (const char* each : {"Add", "Sub", "Mul", "InplaceAdd", "InplaceSub", "InplaceMul"}) {
    if (std::strcmp(name, each) == 0) return true;
  }
  return false;
}

// Kinds of types, each of which can stand for those before it.
enum class Rank { Bool, Integer, Real, Complex };

Rank rankOf(DataType type) {
  switch (type) {
    case DataType::Bool: return Rank::Bool;
    case DataType::Int8:
    case DataType::Uint8:
    case DataType::Int16:
    case DataType::Uint16:
    case DataType::Int32:
    case DataType::Uint32:
    case DataType::Int64:
    case DataType::Uint64: return Rank::Integer;
    default: return isComplex(type) ? Rank::Complex : Rank::Real;
  }
}

}  // namespace

int checkPromotion(const char* name, const RawArgument* arguments, size_t count) noexcept {
  if (!isArithmetic(name) || count < 2) return kSuccess;
  return guarded([&] {
    const bool inplace = std::strncmp(name, "Inplace", 7) == 0;
    const void* output = arguments[inplace ? 0 : count - 1].pointer;
    if (!isHandle(output, Kind::Tensor)) return;  // the operator itself tells what is wrong
    const Rank rank = rankOf(opened<Tensor>(output)->dtype);
    for (const size_t input : {0, 1}) {
      const void* handle = arguments[input].pointer;
      if (!isHandle(handle, Kind::Tensor) || rankOf(opened<Tensor>(handle)->dtype) <= rank) continue;
      throw Error(kAclnnInvalidParam, std::string("aclnn") + name + ": the result type can't be " +
                                          "cast to the desired output type");
    }
  });
}

}  // namespace npusim
