// SPDX-License-Identifier: Apache-2.0
// The functions of one and of two elements that operators apply, one type each.
#pragma once

#include "arithmetic.h"

namespace npusim {

template <class T>
constexpr bool isInteger = std::is_integral_v<T>;

// Rounding leaves integers alone, even those that a double cannot hold.
template <class T, class Rounding>
T rounded(T x, Rounding&& rounding) {
  if constexpr (isInteger<T>) {
    return x;
  } else {
    return rounding(x);
  }
}

inline double inverseErf(double x) {
  if (x <= -1 || x >= 1) return x == -1 ? -INFINITY : x == 1 ? INFINITY : NAN;
  const double a = 0.147, logarithm = std::log(1 - x * x);
  const double t = 2 / (M_PI * a) + logarithm / 2;
  double y = std::copysign(std::sqrt(std::sqrt(t * t - logarithm / a) - t), x);
  for (int i = 0; i < 3; ++i) y -= (std::erf(y) - x) * std::sqrt(M_PI) / 2 * std::exp(y * y);
  return y;  // the closed form is good to 2e-3; each Newton step squares that
}

#define NPUSIM_UNARY(name, expression) \
  struct name##Function {              \
    template <class T>                 \
    static auto apply(T x) {           \
      return expression;               \
    }                                  \
  };
#define NPUSIM_BINARY(name, expression)  \
  struct name##Function {                \
    template <class T>                   \
    static T apply(T a, T b) {           \
      return static_cast<T>(expression); \
    }                                    \
  };

NPUSIM_UNARY(Abs, x < 0 ? -x : (x == 0 ? T{0} : x))
NPUSIM_UNARY(Neg, -x)
NPUSIM_UNARY(Sign, static_cast<T>((x > 0) - (x < 0)))
NPUSIM_UNARY(Signbit, std::signbit(static_cast<double>(x)))
NPUSIM_UNARY(LogicalNot, x == 0)
NPUSIM_UNARY(Ceil, rounded(x, [](double v) { return std::ceil(v); }))
NPUSIM_UNARY(Floor, rounded(x, [](double v) { return std::floor(v); }))
NPUSIM_UNARY(Round, rounded(x, [](double v) { return std::nearbyint(v); }))
NPUSIM_UNARY(Trunc, rounded(x, [](double v) { return std::trunc(v); }))
NPUSIM_UNARY(Frac, isInteger<T> ? T{0} : static_cast<T>(x - std::trunc(static_cast<double>(x))))
NPUSIM_UNARY(IsFinite, isInteger<T> || std::isfinite(static_cast<double>(x)))
NPUSIM_UNARY(IsInf, !isInteger<T> && std::isinf(static_cast<double>(x)))
NPUSIM_UNARY(IsPosInf, !isInteger<T> && static_cast<double>(x) == INFINITY)
NPUSIM_UNARY(IsNegInf, !isInteger<T> && static_cast<double>(x) == -INFINITY)
NPUSIM_UNARY(Exp, std::exp(x))
NPUSIM_UNARY(Exp2, std::exp2(x))
NPUSIM_UNARY(Expm1, std::expm1(x))
NPUSIM_UNARY(Log, std::log(x))
NPUSIM_UNARY(Log2, std::log2(x))
NPUSIM_UNARY(Log10, std::log10(x))
NPUSIM_UNARY(Log1p, std::log1p(x))
NPUSIM_UNARY(Sqrt, std::sqrt(x))
NPUSIM_UNARY(Rsqrt, 1 / std::sqrt(x))
NPUSIM_UNARY(Reciprocal, 1.0 / static_cast<double>(x))
NPUSIM_UNARY(Sin, std::sin(x))
NPUSIM_UNARY(Cos, std::cos(x))
NPUSIM_UNARY(Tan, std::tan(x))
NPUSIM_UNARY(Asin, std::asin(x))
NPUSIM_UNARY(Acos, std::acos(x))
NPUSIM_UNARY(Atan, std::atan(x))
NPUSIM_UNARY(Sinh, std::sinh(x))
NPUSIM_UNARY(Cosh, std::cosh(x))
NPUSIM_UNARY(Tanh, std::tanh(x))
NPUSIM_UNARY(Asinh, std::asinh(x))
NPUSIM_UNARY(Acosh, std::acosh(x))
NPUSIM_UNARY(Atanh, std::atanh(x))
NPUSIM_UNARY(Erf, std::erf(x))
NPUSIM_UNARY(Erfc, std::erfc(x))
NPUSIM_UNARY(Erfinv, inverseErf(x))
NPUSIM_UNARY(Sinc, x == 0 ? 1.0 : std::sin(M_PI * x) / (M_PI * x))

NPUSIM_BINARY(Sum, a + b)
NPUSIM_BINARY(Difference, a - b)
NPUSIM_BINARY(Product, a * b)
NPUSIM_BINARY(Quotient, static_cast<double>(a) / static_cast<double>(b))
NPUSIM_BINARY(Floored, floorQuotient(a, b))
NPUSIM_BINARY(FloorRest, floorRemainder(a, b))
NPUSIM_BINARY(TruncatedRest, truncatedRemainder(a, b))
NPUSIM_BINARY(Power, power(a, b))
NPUSIM_BINARY(Larger, larger(a, b))
NPUSIM_BINARY(Smaller, smaller(a, b))
NPUSIM_BINARY(Arctangent, std::atan2(a, b))
NPUSIM_BINARY(Equal, a == b)
NPUSIM_BINARY(NotEqual, a != b)
NPUSIM_BINARY(Less, a < b)
NPUSIM_BINARY(LessOrEqual, a <= b)
NPUSIM_BINARY(Greater, a > b)
NPUSIM_BINARY(GreaterOrEqual, a >= b)
NPUSIM_BINARY(Both, a != 0 && b != 0)
NPUSIM_BINARY(Either, a != 0 || b != 0)
NPUSIM_BINARY(OneOf, (a != 0) != (b != 0))
NPUSIM_BINARY(BitAnd, static_cast<int64_t>(a) & static_cast<int64_t>(b))
NPUSIM_BINARY(BitOr, static_cast<int64_t>(a) | static_cast<int64_t>(b))
NPUSIM_BINARY(BitXor, static_cast<int64_t>(a) ^ static_cast<int64_t>(b))
NPUSIM_BINARY(LogSum, larger(a, b) + std::log1p(std::exp(a == b ? T{0} : -std::abs(a - b))))
NPUSIM_BINARY(WeightedLog, a == 0 && b == b ? T{0} : a * std::log(b))

#undef NPUSIM_UNARY
#undef NPUSIM_BINARY

}  // namespace npusim
