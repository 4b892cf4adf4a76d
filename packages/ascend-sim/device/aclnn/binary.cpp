// SPDX-License-Identifier: Apache-2.0
// Functions of two elements: tensor with tensor, tensor with scalar, scalar with tensor.
#include "functions.h"
#include "pointwise.h"

namespace npusim {
namespace {

template <class Function>
void withTensor(const Tensor& self, const Tensor& other, const Tensor& out) {
  withComputeType({&self, &other, &out}, [&](auto zero) {
    using T = decltype(zero);
    map2<T>(out, self, other, [](T a, T b) { return Function::apply(a, b); });
  });
}
template <class Function>
void withTensorInplace(const Tensor& self, const Tensor& other) {
  withTensor<Function>(self, other, self);
}

template <class Function>
void withScalar(const Tensor& self, const Scalar& other, const Tensor& out) {
  withComputeType({&self, &out}, {&other}, [&](auto zero) {
    using T = decltype(zero);
    map1<T>(out, self, [b = other.as<T>()](T a) { return Function::apply(a, b); });
  });
}
template <class Function>
void withScalarInplace(const Tensor& self, const Scalar& other) {
  withScalar<Function>(self, other, self);
}

// As PyTorch promotes: beside a tensor in half precision, 37.123 is 37.125.
template <class Function>
void comparedWithScalar(const Tensor& self, const Scalar& other, const Tensor& out) {
  Scalar promoted = other;
  if (isFloating(self.dtype)) {
    withElementType(self.dtype, [&](auto element) {
      promoted.real = decoded<double>(encoded<decltype(element)>(other.real));
    });
  }
  withScalar<Function>(self, promoted, out);
}
template <class Function>
void comparedWithScalarInplace(const Tensor& self, const Scalar& other) {
  comparedWithScalar<Function>(self, other, self);
}

template <class Function>
void scalarFirst(const Scalar& self, const Tensor& other, const Tensor& out) {
  withComputeType({&other, &out}, {&self}, [&](auto zero) {
    using T = decltype(zero);
    map1<T>(out, other, [a = self.as<T>()](T b) { return Function::apply(a, b); });
  });
}

}  // namespace
}  // namespace npusim

using namespace npusim;

#define TENSOR_FORM(name, function)           \
  ACLNN(name, withTensor<function##Function>) \
  ACLNN(Inplace##name, withTensorInplace<function##Function>)
#define SCALAR_FORM(name, function)           \
  ACLNN(name, withScalar<function##Function>) \
  ACLNN(Inplace##name, withScalarInplace<function##Function>)
#define COMPARED_FORM(name, function)                 \
  ACLNN(name, comparedWithScalar<function##Function>) \
  ACLNN(Inplace##name, comparedWithScalarInplace<function##Function>)

TENSOR_FORM(Mul, Product)
SCALAR_FORM(Muls, Product)
TENSOR_FORM(Div, Quotient)
SCALAR_FORM(Divs, Quotient)
TENSOR_FORM(FloorDivide, Floored)
SCALAR_FORM(FloorDivides, Floored)
TENSOR_FORM(RemainderTensorTensor, FloorRest)
SCALAR_FORM(RemainderTensorScalar, FloorRest)
ACLNN(RemainderScalarTensor, scalarFirst<FloorRestFunction>)
TENSOR_FORM(FmodTensor, TruncatedRest)
SCALAR_FORM(FmodScalar, TruncatedRest)
TENSOR_FORM(PowTensorTensor, Power)
SCALAR_FORM(PowTensorScalar, Power)
ACLNN(PowScalarTensor, scalarFirst<PowerFunction>)
TENSOR_FORM(Maximum, Larger)
TENSOR_FORM(Minimum, Smaller)
TENSOR_FORM(ClampMinTensor, Larger)
TENSOR_FORM(ClampMaxTensor, Smaller)
SCALAR_FORM(ClampMin, Larger)
SCALAR_FORM(ClampMax, Smaller)
TENSOR_FORM(Atan2, Arctangent)
TENSOR_FORM(EqTensor, Equal)
COMPARED_FORM(EqScalar, Equal)
TENSOR_FORM(NeTensor, NotEqual)
COMPARED_FORM(NeScalar, NotEqual)
TENSOR_FORM(LtTensor, Less)
COMPARED_FORM(LtScalar, Less)
ACLNN(LessScalar, comparedWithScalar<LessFunction>)
TENSOR_FORM(LeTensor, LessOrEqual)
COMPARED_FORM(LeScalar, LessOrEqual)
TENSOR_FORM(GtTensor, Greater)
COMPARED_FORM(GtScalar, Greater)
TENSOR_FORM(GeTensor, GreaterOrEqual)
COMPARED_FORM(GeScalar, GreaterOrEqual)
TENSOR_FORM(LogicalAnd, Both)
TENSOR_FORM(LogicalOr, Either)
TENSOR_FORM(LogicalXor, OneOf)
TENSOR_FORM(BitwiseAndTensor, BitAnd)
SCALAR_FORM(BitwiseAndScalar, BitAnd)
TENSOR_FORM(BitwiseOrTensor, BitOr)
SCALAR_FORM(BitwiseOrScalar, BitOr)
TENSOR_FORM(BitwiseXorTensor, BitXor)
SCALAR_FORM(BitwiseXorScalar, BitXor)
ACLNN(LogAddExp, withTensor<LogSumFunction>)
ACLNN(XLogYTensor, withTensor<WeightedLogFunction>)
ACLNN(XLogYScalarOther, withScalar<WeightedLogFunction>)
ACLNN(XLogYScalarSelf, scalarFirst<WeightedLogFunction>)
