// SPDX-License-Identifier: Apache-2.0
// Arithmetic on two numbers with PyTorch's meaning for integers, NaN and division by zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace npusim {

template <class T>
T power(T base, T exponent) {
  if constexpr (std::is_integral_v<T>) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    T result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base) {
      if (exponent & 1) result *= base;
    }
    return result;
  } else {
    // The same as std::pow, and ten times as fast.
    return exponent == 2 ? base * base : exponent == 1 ? base : std::pow(base, exponent);
  }
}

// Integer division by zero traps on the CPU; a device gives a number, here 0.
template <class T>
T floorQuotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if (b == -1) return -a;  // the quotient of the smallest number would trap as well
    return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
  } else {
    return std::floor(a / b);
  }
}

template <class T>
T truncatedQuotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return b == 0 ? 0 : b == -1 ? -a : a / b;
  } else {
    return std::trunc(a / b);
  }
}

template <class T>
T truncatedRemainder(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return b == 0 || b == -1 ? 0 : a % b;
  } else {
    return std::fmod(a, b);
  }
}

template <class T>
T floorRemainder(T a, T b) {
  T rest = truncatedRemainder(a, b);
  return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}

// NaN wins, as in PyTorch and unlike std::max and std::fmax.
template <class T>
T larger(T a, T b) {
  return a != a ? a : b != b ? b : std::max(a, b);
}

template <class T>
T smaller(T a, T b) {
  return a != a ? a : b != b ? b : std::min(a, b);
}

}  // namespace npusim
