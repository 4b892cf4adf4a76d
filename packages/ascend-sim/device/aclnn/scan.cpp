// SPDX-License-Identifier: Apache-2.0
// Running sums, products and extremes along one dimension.
#include "arithmetic.h"
#include "rows.h"

using namespace npusim;

namespace {

void Cumsum(const Tensor& self, int64_t dim, int, const Tensor& out) {
  withComputeType({&self, &out}, [&](auto zero) {
    using T = decltype(zero);
    transformRows<T>(self, dim, out, [](T* row, int64_t length) {
      for (int64_t i = 1; i < length; ++i) row[i] += row[i - 1];
    });
  });
}

void CumsumV2(const Tensor& self, int64_t dim, bool exclusive, bool reverse, const Tensor& out) {
  withComputeType({&self, &out}, [&](auto zero) {
    using T = decltype(zero);
    transformRows<T>(self, dim, out, [=](T* row, int64_t length) {
      if (reverse) std::reverse(row, row + length);
      T total = 0;
      for (int64_t i = 0; i < length; ++i) {
        const T before = total;
        total += row[i];
        row[i] = exclusive ? before : total;
      }
      if (reverse) std::reverse(row, row + length);
    });
  });
}

void Cumprod(const Tensor& self, const Scalar& dim, int, const Tensor& out) {
  withComputeType({&self, &out}, [&](auto zero) {
    using T = decltype(zero);
    transformRows<T>(self, dim.integer, out, [](T* row, int64_t length) {
      for (int64_t i = 1; i < length; ++i) row[i] *= row[i - 1];
    });
  });
}

// The latest of equal elements counts, as in PyTorch.
template <class Better>
void cumulativeExtreme(const Tensor& self, int64_t dim, const Tensor& values,
                       const Tensor& indices, Better&& better) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    Rows<T> rows = loadRows<T>(self, {dim});
    Values<int64_t> origins;
    for (int64_t r = 0; r < rows.count; ++r) {
      T* row = rows.row(r);
      int64_t best = 0;
      for (int64_t i = 0; i < rows.length; ++i) {
        if (i > 0 && (row[i] != row[i] || better(row[i], row[i - 1]))) best = i;
        if (i > 0 && best != i) row[i] = row[i - 1];
        origins.push_back(best);
      }
    }
    storeRows(values, {dim}, rows.values);
    storeRows(indices, {dim}, origins);
  });
}

void Cummax(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  cumulativeExtreme(self, dim, values, indices, [](auto a, auto b) { return a >= b; });
}
void Cummin(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  cumulativeExtreme(self, dim, values, indices, [](auto a, auto b) { return a <= b; });
}

}  // namespace

ACLNN(Cumsum, Cumsum)
ACLNN(CumsumV2, CumsumV2)
ACLNN(Cumprod, Cumprod)
ACLNN(Cummax, Cummax)
ACLNN(Cummin, Cummin)
