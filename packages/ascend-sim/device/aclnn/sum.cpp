// SPDX-License-Identifier: Apache-2.0
// Sums and quotients that take one more argument: alpha, or how to round.
#include "arithmetic.h"
#include "pointwise.h"

using namespace npusim;

namespace {

// out = first + factor * second, where sign and order give add, sub and rsub.
void sum(const Tensor& first, const Tensor& second, const Scalar& alpha, int sign,
         const Tensor& out) {
  withComputeType({&first, &second, &out}, {&alpha}, [&](auto zero) {
    using T = decltype(zero);
    const T factor = alpha.as<T>() * sign;
    map2<T>(out, first, second, [=](T a, T b) { return a + factor * b; });
  });
}

void sumWithScalar(const Tensor& self, const Scalar& other, const Scalar& alpha, int sign,
                   const Tensor& out) {
  withComputeType({&self, &out}, {&other, &alpha}, [&](auto zero) {
    using T = decltype(zero);
    const T term = alpha.as<T>() * other.as<T>() * sign;
    map1<T>(out, self, [=](T a) { return a + term; });
  });
}

void Add(const Tensor& a, const Tensor& b, const Scalar& alpha, const Tensor& out) {
  sum(a, b, alpha, 1, out);
}
void InplaceAdd(const Tensor& a, const Tensor& b, const Scalar& alpha) { sum(a, b, alpha, 1, a); }
void Adds(const Tensor& a, const Scalar& b, const Scalar& alpha, const Tensor& out) {
  sumWithScalar(a, b, alpha, 1, out);
}
void InplaceAdds(const Tensor& a, const Scalar& b, const Scalar& alpha) {
  sumWithScalar(a, b, alpha, 1, a);
}
void AddV3(const Scalar& a, const Tensor& b, const Scalar& alpha, const Tensor& out) {
  withComputeType({&b, &out}, {&a, &alpha}, [&](auto zero) {
    using T = decltype(zero);
    map1<T>(out, b, [x = a.as<T>(), f = alpha.as<T>()](T y) { return x + f * y; });
  });
}
void Sub(const Tensor& a, const Tensor& b, const Scalar& alpha, const Tensor& out) {
  sum(a, b, alpha, -1, out);
}
void InplaceSub(const Tensor& a, const Tensor& b, const Scalar& alpha) { sum(a, b, alpha, -1, a); }
void Subs(const Tensor& a, const Scalar& b, const Scalar& alpha, const Tensor& out) {
  sumWithScalar(a, b, alpha, -1, out);
}
void InplaceSubs(const Tensor& a, const Scalar& b, const Scalar& alpha) {
  sumWithScalar(a, b, alpha, -1, a);
}
void Rsub(const Tensor& a, const Tensor& b, const Scalar& alpha, const Tensor& out) {
  sum(b, a, alpha, -1, out);
}
void Rsubs(const Tensor& a, const Scalar& b, const Scalar& alpha, const Tensor& out) {
  withComputeType({&a, &out}, {&b, &alpha}, [&](auto zero) {
    using T = decltype(zero);
    map1<T>(out, a, [y = b.as<T>(), f = alpha.as<T>()](T x) { return y - f * x; });
  });
}

enum Rounding { kExact = 0, kTruncate = 1, kFloor = 2 };

template <class T>
T quotient(T a, T b, int mode) {
  if (mode == kTruncate) return truncatedQuotient(a, b);
  if (mode == kFloor) return floorQuotient(a, b);
  return static_cast<T>(static_cast<double>(a) / static_cast<double>(b));
}

void DivMod(const Tensor& a, const Tensor& b, int mode, const Tensor& out) {
  withComputeType({&a, &b, &out}, [&](auto zero) {
    using T = decltype(zero);
    map2<T>(out, a, b, [=](T x, T y) { return quotient(x, y, mode); });
  });
}
void InplaceDivMod(const Tensor& a, const Tensor& b, int mode) { DivMod(a, b, mode, a); }
void DivMods(const Tensor& a, const Scalar& b, int mode, const Tensor& out) {
  withComputeType({&a, &out}, {&b}, [&](auto zero) {
    using T = decltype(zero);
    map1<T>(out, a, [=, y = b.as<T>()](T x) { return quotient(x, y, mode); });
  });
}
void InplaceDivMods(const Tensor& a, const Scalar& b, int mode) { DivMods(a, b, mode, a); }

}  // namespace

ACLNN(Add, Add)
ACLNN(InplaceAdd, InplaceAdd)
ACLNN(Adds, Adds)
ACLNN(InplaceAdds, InplaceAdds)
ACLNN(AddV3, AddV3)
ACLNN(Sub, Sub)
ACLNN(InplaceSub, InplaceSub)
ACLNN(Subs, Subs)
ACLNN(InplaceSubs, InplaceSubs)
ACLNN(Rsub, Rsub)
ACLNN(Rsubs, Rsubs)
ACLNN(DivMod, DivMod)
ACLNN(InplaceDivMod, InplaceDivMod)
ACLNN(DivMods, DivMods)
ACLNN(InplaceDivMods, InplaceDivMods)
