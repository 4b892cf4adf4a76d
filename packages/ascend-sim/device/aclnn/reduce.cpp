// SPDX-License-Identifier: Apache-2.0
// Reductions to one value: sums, products, extremes, norms and moments. The dtype argument of an
// operator is the output's type, which the output tensor states again.
#include <numeric>

#include "arithmetic.h"
#include "rows.h"

using namespace npusim;

namespace {

template <class Function>
void reduce(const Tensor& self, const Shape& dims, const Tensor& out, Function&& function) {
  withComputeType({&self, &out}, [&](auto zero) {
    reduceRows<decltype(zero)>(self, dims, out, function);
  });
}

const auto sumOf = [](auto* row, int64_t length) {
  return std::accumulate(row, row + length, std::decay_t<decltype(*row)>{0});
};
const auto productOf = [](auto* row, int64_t length) {
  return std::accumulate(row, row + length, std::decay_t<decltype(*row)>{1},
                         [](auto a, auto b) { return a * b; });
};
const auto meanOf = [](auto* row, int64_t length) {
  return std::accumulate(row, row + length, 0.0) / static_cast<double>(length);
};
const auto greatest = [](auto* row, int64_t length) {
  if (length == 0) throw Error(kAclnnInvalidParam, "the maximum of no elements");
  return std::accumulate(row, row + length, row[0], [](auto a, auto b) { return larger(a, b); });
};
const auto least = [](auto* row, int64_t length) {
  if (length == 0) throw Error(kAclnnInvalidParam, "the minimum of no elements");
  return std::accumulate(row, row + length, row[0], [](auto a, auto b) { return smaller(a, b); });
};

void ReduceSum(const Tensor& self, const IntArray* dims, bool, int, const Tensor& out) {
  reduce(self, dimsOrEvery(self, dims), out, sumOf);
}
void ReduceNansum(const Tensor& self, const IntArray* dims, bool, int, const Tensor& out) {
  reduce(self, dimsOrEvery(self, dims), out, [](auto* row, int64_t length) {
    std::replace_if(row, row + length, [](auto x) { return x != x; }, 0);
    return sumOf(row, length);
  });
}
void Mean(const Tensor& self, const IntArray* dims, bool, int, const Tensor& out) {
  reduce(self, dimsOrEvery(self, dims), out, meanOf);
}
void MeanV2(const Tensor& self, const IntArray* dims, bool, bool, const Tensor& out) {
  reduce(self, dimsOrEvery(self, dims), out, meanOf);
}
void Prod(const Tensor& self, int, const Tensor& out) {
  reduce(self, everyDim(self), out, productOf);
}
void ProdDim(const Tensor& self, int64_t dim, bool, int, const Tensor& out) {
  reduce(self, {dim}, out, productOf);
}
void Max(const Tensor& self, const Tensor& out) { reduce(self, everyDim(self), out, greatest); }
void Min(const Tensor& self, const Tensor& out) { reduce(self, everyDim(self), out, least); }
void Amax(const Tensor& self, const IntArray* dims, bool, const Tensor& out) {
  reduce(self, dimsOrEvery(self, dims), out, greatest);
}
void Amin(const Tensor& self, const IntArray* dims, bool, const Tensor& out) {
  reduce(self, dimsOrEvery(self, dims), out, least);
}
void Aminmax(const Tensor& self, const IntArray* dims, bool keep, const Tensor& low,
             const Tensor& high) {
  Amin(self, dims, keep, low);
  Amax(self, dims, keep, high);
}
void AminmaxAll(const Tensor& self, const Tensor& low, const Tensor& high) {
  Min(self, low);
  Max(self, high);
}
void AminmaxDim(const Tensor& self, int64_t dim, bool, const Tensor& low, const Tensor& high) {
  reduce(self, {dim}, low, least);
  reduce(self, {dim}, high, greatest);
}
void All(const Tensor& self, const IntArray* dims, bool, const Tensor& out) {
  reduce(self, dimsOrEvery(self, dims), out, [](auto* row, int64_t length) {
    return std::all_of(row, row + length, [](auto x) { return x != 0; });
  });
}
void Any(const Tensor& self, const IntArray* dims, bool, const Tensor& out) {
  reduce(self, dimsOrEvery(self, dims), out, [](auto* row, int64_t length) {
    return std::any_of(row, row + length, [](auto x) { return x != 0; });
  });
}
void LogSumExp(const Tensor& self, const IntArray* dims, bool, const Tensor& out) {
  reduceRows<double>(self, dimsOrEvery(self, dims), out, [](double* row, int64_t length) {
    double top = greatest(row, length), sum = 0;
    if (std::isinf(top)) return top;
    for (int64_t i = 0; i < length; ++i) sum += std::exp(row[i] - top);
    return top + std::log(sum);
  });
}

double normOf(const double* row, int64_t length, double order) {
  double total = order == -INFINITY ? INFINITY : 0;
  for (int64_t i = 0; i < length; ++i) {
    const double x = std::abs(row[i]);
    if (order == INFINITY) {
      total = larger(total, x);
    } else if (order == -INFINITY) {
      total = smaller(total, x);
    } else {
      total += order == 0 ? x != 0 : std::pow(x, order);
    }
  }
  return std::isinf(order) || order == 0 ? total : std::pow(total, 1 / order);
}

void Norm(const Tensor& self, const Scalar& order, const IntArray* dims, bool, const Tensor& out) {
  reduceRows<double>(self, dimsOrEvery(self, dims), out, [&](double* row, int64_t length) {
    return normOf(row, length, order.as<double>());
  });
}
void LinalgVectorNorm(const Tensor& self, const Scalar& order, const IntArray* dims, bool keep,
                      int, const Tensor& out) {
  Norm(self, order, dims, keep, out);
}
void ForeachNorm(const TensorList& self, const Scalar& order, const TensorList& out) {
  for (size_t i = 0; i < self.items.size(); ++i) {
    Norm(*self.items[i], order, nullptr, false, *out.items[i]);
  }
}

double varianceOf(const double* row, int64_t length, int64_t correction) {
  const double mean = meanOf(row, length);
  double total = 0;
  for (int64_t i = 0; i < length; ++i) total += (row[i] - mean) * (row[i] - mean);
  return total / static_cast<double>(std::max<int64_t>(0, length - correction));
}

void Var(const Tensor& self, const IntArray* dims, int64_t correction, bool, const Tensor& out) {
  reduceRows<double>(self, dimsOrEvery(self, dims), out, [=](double* row, int64_t length) {
    return varianceOf(row, length, correction);
  });
}
void Std(const Tensor& self, const IntArray* dims, int64_t correction, bool, const Tensor& out) {
  reduceRows<double>(self, dimsOrEvery(self, dims), out, [=](double* row, int64_t length) {
    return std::sqrt(varianceOf(row, length, correction));
  });
}
void VarMean(const Tensor& self, const IntArray* dims, int64_t correction, bool keep,
             const Tensor& variance, const Tensor& mean) {
  Var(self, dims, correction, keep, variance);
  MeanV2(self, dims, keep, false, mean);
}
void StdMean(const Tensor& self, const IntArray* dims, int64_t correction, bool keep,
             const Tensor& deviation, const Tensor& mean) {
  Std(self, dims, correction, keep, deviation);
  MeanV2(self, dims, keep, false, mean);
}

void Trace(const Tensor& self, const Tensor& out) {
  Tensor diagonal = self;
  diagonal.shape = {std::min(self.dim(0), self.dim(1))};
  diagonal.strides = {self.strides[0] + self.strides[1]};
  reduce(diagonal, {0}, out, sumOf);
}

}  // namespace

ACLNN(Trace, Trace)
ACLNN(ReduceSum, ReduceSum)
ACLNN(ReduceNansum, ReduceNansum)
ACLNN(Mean, Mean)
ACLNN(MeanV2, MeanV2)
ACLNN(Prod, Prod)
ACLNN(ProdDim, ProdDim)
ACLNN(Max, Max)
ACLNN(Min, Min)
ACLNN(Amax, Amax)
ACLNN(Amin, Amin)
ACLNN(Aminmax, Aminmax)
ACLNN(AminmaxAll, AminmaxAll)
ACLNN(AminmaxDim, AminmaxDim)
ACLNN(All, All)
ACLNN(Any, Any)
ACLNN(LogSumExp, LogSumExp)
ACLNN(Norm, Norm)
ACLNN(LinalgVectorNorm, LinalgVectorNorm)
ACLNN(ForeachNorm, ForeachNorm)
ACLNN(Var, Var)
ACLNN(VarCorrection, Var)
ACLNN(Std, Std)
ACLNN(VarMean, VarMean)
ACLNN(StdMeanCorrection, StdMean)
