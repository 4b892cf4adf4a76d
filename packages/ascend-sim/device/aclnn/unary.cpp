// SPDX-License-Identifier: Apache-2.0
// Functions of one element. Each is exported as aclnnX(self, out) and aclnnInplaceX(self).
#include "functions.h"
#include "pointwise.h"

namespace npusim {
namespace {

template <class Function>
void unary(const Tensor& self, const Tensor& out) {
  withComputeType({&self, &out}, [&](auto zero) {
    using T = decltype(zero);
    map1<T>(out, self, [](T x) { return Function::apply(x); });
  });
}

template <class Function>
void unaryInplace(const Tensor& self) {
  unary<Function>(self, self);
}

}  // namespace
}  // namespace npusim

using namespace npusim;

#define UNARY(name)                  \
  ACLNN(name, unary<name##Function>) \
  ACLNN(Inplace##name, unaryInplace<name##Function>)

UNARY(Abs)
UNARY(Neg)
UNARY(Sign)
UNARY(Signbit)
UNARY(LogicalNot)
UNARY(Ceil)
UNARY(Floor)
UNARY(Round)
UNARY(Trunc)
UNARY(Frac)
UNARY(IsFinite)
UNARY(IsInf)
UNARY(IsPosInf)
UNARY(IsNegInf)
UNARY(Exp)
UNARY(Exp2)
UNARY(Expm1)
UNARY(Log)
UNARY(Log2)
UNARY(Log10)
UNARY(Log1p)
UNARY(Sqrt)
UNARY(Rsqrt)
UNARY(Reciprocal)
UNARY(Sin)
UNARY(Cos)
UNARY(Tan)
UNARY(Asin)
UNARY(Acos)
UNARY(Atan)
UNARY(Sinh)
UNARY(Cosh)
UNARY(Tanh)
UNARY(Asinh)
UNARY(Acosh)
UNARY(Atanh)
UNARY(Erf)
UNARY(Erfc)
UNARY(Erfinv)
UNARY(Sinc)

namespace {

// Booleans flip, integers invert every bit: on the computing type alone they look the same.
void BitwiseNot(const Tensor& self, const Tensor& out) {
  bool logical = self.dtype == DataType::Bool;
  map1<int64_t>(out, self, [=](int64_t x) { return logical ? int64_t{x == 0} : ~x; });
}
void InplaceBitwiseNot(const Tensor& self) { BitwiseNot(self, self); }

void NanToNum(const Tensor& self, float nan, float positive, float negative, const Tensor& out) {
  map1<double>(out, self, [=](double x) -> double {
    if (std::isnan(x)) return nan;
    return x == INFINITY ? positive : x == -INFINITY ? negative : x;
  });
}
void InplaceNanToNum(const Tensor& self, float nan, float positive, float negative) {
  NanToNum(self, nan, positive, negative, self);
}

void RoundDecimals(const Tensor& self, int64_t decimals, const Tensor& out) {
  const double scale = std::pow(10.0, static_cast<double>(decimals));
  map1<double>(out, self, [=](double x) { return std::nearbyint(x * scale) / scale; });
}
void InplaceRoundDecimals(const Tensor& self, int64_t decimals) {
  RoundDecimals(self, decimals, self);
}

}  // namespace

ACLNN(BitwiseNot, BitwiseNot)
ACLNN(InplaceBitwiseNot, InplaceBitwiseNot)
ACLNN(NanToNum, NanToNum)
ACLNN(InplaceNanToNum, InplaceNanToNum)
ACLNN(RoundDecimals, RoundDecimals)
ACLNN(InplaceRoundDecimals, InplaceRoundDecimals)
