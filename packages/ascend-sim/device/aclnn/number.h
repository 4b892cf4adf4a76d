// SPDX-License-Identifier: Apache-2.0
// Element types: how each is read from memory and written back. Integers are computed in int64_t
// and floats in double, so each type needs just these two conversions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "../core/errors.h"

namespace npusim {

#if defined(__aarch64__) && !defined(__clang__)
using Half = __fp16;  // g++ up to 12 has no other name for it there
#else
using Half = _Float16;
#endif

struct Bfloat16 {
  uint16_t bits;
};

struct Boolean {
  uint8_t byte;
};

// Calls action with a value of the C++ type that dtype stands for.
template <class Action>
auto withElementType(DataType dtype, Action&& action) {
  switch (dtype) {
    case DataType::Float: return action(float{});
    case DataType::Half: return action(Half{});
    case DataType::Bfloat16: return action(Bfloat16{});
    case DataType::Double: return action(double{});
    case DataType::Int8: return action(int8_t{});
    case DataType::Int16: return action(int16_t{});
    case DataType::Int32: return action(int32_t{});
    case DataType::Int64: return action(int64_t{});
    case DataType::Uint8: return action(uint8_t{});
    case DataType::Uint16: return action(uint16_t{});
    case DataType::Uint32: return action(uint32_t{});
    case DataType::Uint64: return action(uint64_t{});
    case DataType::Bool: return action(Boolean{});
  }
  throw Error(kAclnnInvalidParam,
              "data type " + std::to_string(static_cast<int>(dtype)) + " is not simulated");
}

inline bool isFloating(DataType dtype) {
  return dtype == DataType::Float || dtype == DataType::Half || dtype == DataType::Bfloat16 ||
         dtype == DataType::Double;
}

inline size_t elementSize(DataType dtype) {
  return withElementType(dtype, [](auto element) { return sizeof element; });
}

template <class T>
T decoded(Bfloat16 value) {
  uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return static_cast<T>(number);
}

template <class T>
T decoded(Boolean value) {
  return static_cast<T>(value.byte != 0);
}

template <class T, class Element>
T decoded(Element value) {
  return static_cast<T>(value);
}

inline uint16_t bfloat16Bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);  // nearest even
}

template <class Element, class T>
Element encoded(T value) {
  if constexpr (std::is_same_v<Element, Bfloat16>) {
    return {bfloat16Bits(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<Element, Boolean>) {
    return {static_cast<uint8_t>(value != 0)};
  } else if constexpr (std::is_integral_v<Element> && std::is_floating_point_v<T>) {
    // A direct conversion of NaN, infinity or a too large number is undefined in C++.
    if (std::isnan(value)) return 0;
    if (value >= 9223372036854775808.0) return static_cast<Element>(INT64_MAX);
    if (value <= -9223372036854775808.0) return static_cast<Element>(INT64_MIN);
    return static_cast<Element>(static_cast<int64_t>(value));
  } else {
    return static_cast<Element>(value);
  }
}

}  // namespace npusim
