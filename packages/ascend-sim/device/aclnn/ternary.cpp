// SPDX-License-Identifier: Apache-2.0
// Functions of three operands: fused updates, interpolation, selection, limits.
#include "arithmetic.h"
#include "pointwise.h"

using namespace npusim;

namespace {

void Addcmul(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value,
             const Tensor& out) {
  withComputeType({&self, &a, &b, &out}, {&value}, [&](auto zero) {
    using T = decltype(zero);
    map3<T>(out, self, a, b, [v = value.as<T>()](T s, T x, T y) { return s + v * x * y; });
  });
}
void InplaceAddcmul(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  Addcmul(self, a, b, value, self);
}

void Addcdiv(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value,
             const Tensor& out) {
  map3<double>(out, self, a, b,
               [v = value.as<double>()](double s, double x, double y) { return s + v * x / y; });
}
void InplaceAddcdiv(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  Addcdiv(self, a, b, value, self);
}

void Lerp(const Tensor& self, const Tensor& end, const Tensor& weight, const Tensor& out) {
  map3<double>(out, self, end, weight,
               [](double a, double b, double w) { return a + w * (b - a); });
}
void InplaceLerp(const Tensor& self, const Tensor& end, const Tensor& weight) {
  Lerp(self, end, weight, self);
}
void Lerps(const Tensor& self, const Tensor& end, const Scalar& weight, const Tensor& out) {
  map2<double>(out, self, end,
               [w = weight.as<double>()](double a, double b) { return a + w * (b - a); });
}
void InplaceLerps(const Tensor& self, const Tensor& end, const Scalar& weight) {
  Lerps(self, end, weight, self);
}

void SWhere(const Tensor& condition, const Tensor& self, const Tensor& other, const Tensor& out) {
  withComputeType({&self, &other, &out}, [&](auto zero) {
    using T = decltype(zero);
    map3<T>(out, condition, self, other, [](T c, T a, T b) { return c != 0 ? a : b; });
  });
}

void Clamp(const Tensor& self, const Scalar* low, const Scalar* high, const Tensor& out) {
  withComputeType({&self, &out}, {low, high}, [&](auto zero) {
    using T = decltype(zero);
    map1<T>(out, self, [&](T x) {
      if (low != nullptr) x = larger(x, low->as<T>());
      return high != nullptr ? smaller(x, high->as<T>()) : x;
    });
  });
}
void InplaceClamp(const Tensor& self, const Scalar* low, const Scalar* high) {
  Clamp(self, low, high, self);
}
void ClampTensor(const Tensor& self, const Tensor* low, const Tensor* high, const Tensor& out) {
  withComputeType({&self, low, high, &out}, [&](auto zero) {
    using T = decltype(zero);
    map1<T>(out, self, [](T x) { return x; });
    if (low != nullptr) map2<T>(out, out, *low, [](T x, T limit) { return larger(x, limit); });
    if (high != nullptr) map2<T>(out, out, *high, [](T x, T limit) { return smaller(x, limit); });
  });
}

void IsClose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan,
             const Tensor& out) {
  map2<double>(out, self, other, [=](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return equal_nan && std::isnan(a) && std::isnan(b);
    return a == b || (std::isfinite(a - b) && std::abs(a - b) <= atol + rtol * std::abs(b));
  });
}

// One boolean for the whole of both tensors.
void Equal(const Tensor& self, const Tensor& other, const Tensor& out) {
  withComputeType({&self, &other}, [&](auto zero) {
    using T = decltype(zero);
    bool same = self.shape == other.shape && load<T>(self) == load<T>(other);
    store(out, Values<int64_t>{same});
  });
}

}  // namespace

ACLNN(Addcmul, Addcmul)
ACLNN(InplaceAddcmul, InplaceAddcmul)
ACLNN(Addcdiv, Addcdiv)
ACLNN(InplaceAddcdiv, InplaceAddcdiv)
ACLNN(Lerp, Lerp)
ACLNN(InplaceLerp, InplaceLerp)
ACLNN(Lerps, Lerps)
ACLNN(InplaceLerps, InplaceLerps)
ACLNN(SWhere, SWhere)
ACLNN(Clamp, Clamp)
ACLNN(InplaceClamp, InplaceClamp)
ACLNN(ClampTensor, ClampTensor)
ACLNN(IsClose, IsClose)
ACLNN(Equal, Equal)
