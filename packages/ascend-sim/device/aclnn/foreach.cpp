// SPDX-License-Identifier: Apache-2.0
// Operators on lists of tensors, which PyTorch's optimizers use.
#include <optional>

#include "functions.h"
#include "pointwise.h"

namespace npusim {

// One number for each tensor of a list. op-plugin passes the same operator a scalar, a list of
// scalars, or a tensor of one or more numbers, depending on its version.
class Factors {
 public:
  explicit Factors(const void* handle) {
    if (isHandle(handle, Kind::Tensor)) {
      tensor_ = *opened<Tensor>(handle);
    } else if (isHandle(handle, Kind::ScalarList)) {
      const auto list = opened<ScalarList>(handle);
      for (const auto& item : list->items) scalars_.push_back(*item);
    } else {
      scalars_ = {*opened<Scalar>(handle)};
      alike_ = true;
    }
  }

  template <class T>
  T at(size_t index) const {
    if (!tensor_) return scalars_.at(alike_ ? 0 : index).template as<T>();
    const Values<T> numbers = load<T>(*tensor_);
    return numbers.at(numbers.size() == 1 ? 0 : index);
  }

 private:
  std::optional<Tensor> tensor_;
  Values<Scalar> scalars_;
  bool alike_ = false;
};

template <>
struct Wire<Factors> {
  using Type = void*;
  static std::shared_ptr<void> hold(const void* handle) {
    return std::make_shared<Factors>(handle);
  }
  static constexpr Parameter parameter{hold, hold};
  static const Factors& open(const Argument& argument) {
    return *static_cast<const Factors*>(argument.object.get());
  }
};

namespace {

// Calls action(index, T{}) for each tensor of `out`, in the computing type of out and self.
template <class Action>
void eachTensor(const TensorList& self, const TensorList& out, Action&& action) {
  for (size_t i = 0; i < out.items.size(); ++i) {
    withComputeType({&*self.items[i], &*out.items[i]}, [&](auto zero) { action(i, zero); });
  }
}

template <class Function>
void eachUnary(const TensorList& self, const TensorList& out) {
  eachTensor(self, out, [&](size_t i, auto zero) {
    using T = decltype(zero);
    map1<T>(*out.items[i], *self.items[i], [](T x) { return Function::apply(x); });
  });
}

template <class Function>
void eachPair(const TensorList& self, const TensorList& other, const TensorList& out) {
  eachTensor(self, out, [&](size_t i, auto zero) {
    using T = decltype(zero);
    map2<T>(*out.items[i], *self.items[i], *other.items.at(i),
            [](T a, T b) { return Function::apply(a, b); });
  });
}

template <class Function>
void eachFactor(const TensorList& self, Factors factors, const TensorList& out) {
  eachTensor(self, out, [&](size_t i, auto zero) {
    using T = decltype(zero);
    map1<T>(*out.items[i], *self.items[i],
            [factor = factors.at<T>(i)](T x) { return Function::apply(x, factor); });
  });
}

template <int sign>
void eachSum(const TensorList& self, const TensorList& other, Factors alpha,
             const TensorList& out) {
  eachTensor(self, out, [&](size_t i, auto zero) {
    using T = decltype(zero);
    map2<T>(*out.items[i], *self.items[i], *other.items.at(i),
            [factor = alpha.at<T>(0) * sign](T a, T b) { return a + factor * b; });
  });
}

template <bool divide>
void eachFused(const TensorList& self, const TensorList& first, const TensorList& second,
               Factors factors, const TensorList& out) {
  for (size_t i = 0; i < out.items.size(); ++i) {
    map3<double>(*out.items[i], *self.items.at(i), *first.items.at(i), *second.items.at(i),
                 [factor = factors.at<double>(i)](double s, double a, double b) {
                   return s + factor * (divide ? a / b : a * b);
                 });
  }
}

void ForeachLerpScalar(const TensorList& self, const TensorList& end, Factors weight,
                       const TensorList& out) {
  for (size_t i = 0; i < out.items.size(); ++i) {
    map2<double>(*out.items[i], *self.items.at(i), *end.items.at(i),
                 [w = weight.at<double>(0)](double a, double b) { return a + w * (b - a); });
  }
}
void ForeachLerpList(const TensorList& self, const TensorList& end, const TensorList& weights,
                     const TensorList& out) {
  for (size_t i = 0; i < out.items.size(); ++i) {
    map3<double>(*out.items[i], *self.items.at(i), *end.items.at(i), *weights.items.at(i),
                 [](double a, double b, double w) { return a + w * (b - a); });
  }
}

void ForeachPowScalarAndTensor(const Scalar& base, const TensorList& exponents,
                               const TensorList& out) {
  eachTensor(exponents, out, [&](size_t i, auto zero) {
    using T = decltype(zero);
    map1<T>(*out.items[i], *exponents.items[i],
            [b = base.as<T>()](T exponent) { return power(b, exponent); });
  });
}

// Divides gradients by the loss scale, and raises found_inf when one of them is not finite.
void ForeachNonFiniteCheckAndUnscale(const TensorList& gradients, const Tensor& found_inf,
                                     const Tensor& inverse_scale) {
  const double scale = single<double>(inverse_scale);
  for (const auto& gradient : gradients.items) {
    Values<double> values = load<double>(*gradient);
    for (double& value : values) {
      if (!std::isfinite(value)) store(found_inf, Values<double>{1});
      value *= scale;
    }
    store(*gradient, values);
  }
}

}  // namespace
}  // namespace npusim

using namespace npusim;

#define EACH_UNARY(name) ACLNN(Foreach##name, eachUnary<name##Function>)
#define EACH_FACTOR(name, function)                              \
  ACLNN(Foreach##name##Scalar, eachFactor<function##Function>)   \
  ACLNN(Foreach##name##ScalarV2, eachFactor<function##Function>) \
  ACLNN(Foreach##name##ScalarList, eachFactor<function##Function>)
#define EACH_PAIR(name, function) ACLNN(Foreach##name##List, eachPair<function##Function>)

EACH_UNARY(Abs)
EACH_UNARY(Acos)
EACH_UNARY(Asin)
EACH_UNARY(Atan)
EACH_UNARY(Cos)
EACH_UNARY(Cosh)
EACH_UNARY(Erf)
EACH_UNARY(Erfc)
EACH_UNARY(Exp)
EACH_UNARY(Expm1)
EACH_UNARY(Log)
EACH_UNARY(Log10)
EACH_UNARY(Log1p)
EACH_UNARY(Log2)
EACH_UNARY(Neg)
EACH_UNARY(Reciprocal)
EACH_UNARY(Sign)
EACH_UNARY(Sin)
EACH_UNARY(Sinh)
EACH_UNARY(Sqrt)
EACH_UNARY(Tan)
EACH_UNARY(Tanh)
EACH_FACTOR(Add, Sum)
EACH_FACTOR(Sub, Difference)
EACH_FACTOR(Mul, Product)
EACH_FACTOR(Div, Quotient)
EACH_FACTOR(Pow, Power)
EACH_FACTOR(Maximum, Larger)
EACH_FACTOR(Minimum, Smaller)
EACH_PAIR(Mul, Product)
EACH_PAIR(Div, Quotient)
EACH_PAIR(Pow, Power)
EACH_PAIR(Maximum, Larger)
EACH_PAIR(Minimum, Smaller)
ACLNN(ForeachAddList, eachSum<1>)
ACLNN(ForeachAddListV2, eachSum<1>)
ACLNN(ForeachSubList, eachSum<-1>)
ACLNN(ForeachSubListV2, eachSum<-1>)
ACLNN(ForeachAddcmulScalar, eachFused<false>)
ACLNN(ForeachAddcmulScalarV2, eachFused<false>)
ACLNN(ForeachAddcmulScalarList, eachFused<false>)
ACLNN(ForeachAddcmulList, eachFused<false>)
ACLNN(ForeachAddcdivScalar, eachFused<true>)
ACLNN(ForeachAddcdivScalarV2, eachFused<true>)
ACLNN(ForeachAddcdivScalarList, eachFused<true>)
ACLNN(ForeachAddcdivList, eachFused<true>)
ACLNN(ForeachLerpScalar, ForeachLerpScalar)
ACLNN(ForeachLerpList, ForeachLerpList)
ACLNN(ForeachPowScalarAndTensor, ForeachPowScalarAndTensor)
ACLNN(ForeachNonFiniteCheckAndUnscale, ForeachNonFiniteCheckAndUnscale)
