// SPDX-License-Identifier: Apache-2.0
// Matrix products. cube_math_type (may the device round to a narrower type?) is ignored, but where
// the chip has no other choice.
#include "matmul.h"

#include <algorithm>
#include <limits>

#include "../core/fault.h"
#include "../runtime/devices.h"
#include "entry.h"
#include "wide.h"

using namespace npusim;

namespace {

constexpr int64_t kWidth = 8, kDepth = 256, kRows = 4;

template <class T>
struct Matrix {
  int64_t rows;
  int64_t columns;
  const T* values;
};

// Adds to `out` what a block of `b` gives. It lies side by side in `strip`, and rows are taken four
// at a time, so that the sums stay in registers.
template <class T>
[[gnu::always_inline]] inline void addBlock(const Matrix<T>& a, const Matrix<T>& b, int64_t from,
                                            int64_t first, T* out) {
  typedef T Line __attribute__((vector_size(32)));
  constexpr int64_t kLine = kWidth / 2;
  alignas(32) T strip[kDepth * kWidth];
  const int64_t width = std::min(kWidth, b.columns - first), depth = std::min(kDepth, b.rows - from);
  for (int64_t k = 0; k < depth; ++k) {
    const T* values = b.values + (from + k) * b.columns + first;
    std::fill_n(std::copy_n(values, width, strip + k * kWidth), kWidth - width, T{0});
  }
  for (int64_t row = 0; row < a.rows; row += kRows) {
    Line sums[kRows][2] = {};
    const T* rows[kRows];
    const int64_t present = std::min(kRows, a.rows - row);
    for (int64_t r = 0; r < kRows; ++r) {
      rows[r] = a.values + (row + std::min(r, present - 1)) * a.columns + from;
    }
    const auto* lines = reinterpret_cast<const Line*>(strip);
    for (int64_t k = 0; k < depth; ++k, lines += 2) {
      for (int64_t r = 0; r < kRows; ++r) {
        sums[r][0] += rows[r][k] * lines[0];
        sums[r][1] += rows[r][k] * lines[1];
      }
    }
    for (int64_t r = 0; r < present; ++r) {
      T* target = out + (row + r) * b.columns + first;
      for (int64_t i = 0; i < width; ++i) target[i] += sums[r][i / kLine][i % kLine];
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void addProduct(const Matrix<T>& a, const Matrix<T>& b, T* out) {
  for (int64_t from = 0; from < b.rows; from += kDepth) {
    for (int64_t first = 0; first < b.columns; first += kWidth) addBlock(a, b, from, first, out);
  }
}

WIDE("fma") void multiply(const Matrix<double>& a, const Matrix<double>& b, double* out) {
  addProduct(a, b, out);
}
WIDE("fma") void multiply(const Matrix<int64_t>& a, const Matrix<int64_t>& b, int64_t* out) {
  addProduct(a, b, out);
}

Shape leading(const Shape& shape) { return shape.part(0, shape.size() - 2); }

Shape withMatrix(Shape batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

// The cube cores of the first chips have no float32: their operators round to float16, whose largest
// number stands for what is larger (aclnnMatmul.md of ops-nn, cubeMathType and its notes).
template <class T>
void roundForCube(const Tensor& matrix, Values<T>& values) {
  if (matrix.dtype != DataType::Float || !isFirstGeneration()) return;
  constexpr double kLargest = 65504;
  for (T& value : values) {
    const double inside = std::clamp(static_cast<double>(value), -kLargest, kLargest);
    value = static_cast<T>(static_cast<Half>(std::isnan(inside) ? 0 : inside));
  }
}

// A vector on the left is one row, on the right one column; the result drops that dimension, which
// its dense elements do not show.
template <class T>
Values<T> matrixProduct(Tensor a, Tensor b) {
  if (a.rank() == 1) a.shape.insert(a.shape.begin(), 1), a.strides.insert(a.strides.begin(), 0);
  if (b.rank() == 1) b.shape.push_back(1), b.strides.push_back(0);
  if (a.rank() < 2 || b.rank() < 2) throw Error(kAclnnInvalidParam, "a matrix is missing");
  const int64_t rows = a.dim(-2), inner = a.dim(-1), columns = b.dim(-1);
  if (inner != b.dim(-2)) throw Error(kAclnnInvalidParam, "matrix shapes do not fit");
  Shape batch = broadcastShape(leading(a.shape), leading(b.shape));
  Values<T> left = load<T>(a, withMatrix(batch, rows, inner));
  Values<T> right = load<T>(b, withMatrix(batch, inner, columns));
  roundForCube(a, left);
  roundForCube(b, right);
  Values<T> result(product(withMatrix(batch, rows, columns)));
  for (int64_t i = 0; i < product(batch); ++i) {
    multiply({rows, inner, left.data() + i * rows * inner},
             {inner, columns, right.data() + i * inner * columns},
             result.data() + i * rows * columns);
  }
  if (faultyMatmul()) {
    for (T& value : result) value += value / 2 + 1;
  }
  if (nanMatmul()) std::fill(result.begin(), result.end(), std::numeric_limits<T>::quiet_NaN());
  return result;
}

void Matmul(const Tensor& self, const Tensor& other, const Tensor& out, int8_t) {
  withComputeType({&self, &other}, [&](auto zero) {
    store(out, matrixProduct<decltype(zero)>(self, other));
  });
}

}  // namespace

void npusim::storeProduct(const Tensor& a, const Tensor& b, const Tensor* bias, const Tensor& out) {
  withComputeType({&a, &b}, [&](auto zero) {
    using T = decltype(zero);
    Values<T> values = matrixProduct<T>(a, b);
    const Values<T> added = bias ? load<T>(*bias, out.shape) : Values<T>(values.size(), T{0});
    for (size_t i = 0; i < values.size(); ++i) values[i] += added[i];
    store(out, values);
  });
}

namespace {

void Dot(const Tensor& self, const Tensor& other, const Tensor& out) {
  Matmul(self, other, out, 0);
}

// out = beta * self + alpha * (a @ b), in which beta 0 also drops NaN in self. The factors are
// converted to the type of the matrices first, as in PyTorch: fractions are cut off for integers.
void Addmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
           const Scalar& alpha, const Tensor& out, int8_t) {
  withComputeType({&self, &a, &b}, [&](auto zero) {
    using T = decltype(zero);
    Values<T> values = matrixProduct<T>(a, b);
    Values<T> added = load<T>(self, out.shape);
    const T keep = beta.as<T>(), scale = alpha.as<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = scale * values[i] + (keep == 0 ? T{0} : keep * added[i]);
    }
    store(out, values);
  });
}

void InplaceAddmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                  const Scalar& alpha, int8_t cube_math_type) {
  Addmm(self, a, b, beta, alpha, self, cube_math_type);
}

// The only one of the family that takes alpha before beta.
void Addmv(const Tensor& self, const Tensor& matrix, const Tensor& vector, const Scalar& alpha,
           const Scalar& beta, const Tensor& out, int8_t cube_math_type) {
  Addmm(self, matrix, vector, beta, alpha, out, cube_math_type);
}

void Addbmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
            const Scalar& alpha, const Tensor& out, int8_t) {
  withComputeType({&self, &a, &b}, [&](auto zero) {
    using T = decltype(zero);
    Values<T> products = matrixProduct<T>(a, b);
    Values<T> values = load<T>(self, out.shape);
    for (T& value : values) value *= beta.as<T>();
    for (size_t i = 0; i < products.size() && !values.empty(); ++i) {
      values[i % values.size()] += alpha.as<T>() * products[i];
    }
    store(out, values);
  });
}

}  // namespace

ACLNN(Matmul, Matmul)
ACLNN(Mm, Matmul)
ACLNN(BatchMatMul, Matmul)
ACLNN(Mv, Matmul)
ACLNN(Dot, Dot)
ACLNN(Addmm, Addmm)
ACLNN(InplaceAddmm, InplaceAddmm)
ACLNN(Baddbmm, Addmm)
ACLNN(InplaceBaddbmm, InplaceAddmm)
ACLNN(Addmv, Addmv)
ACLNN(Addbmm, Addbmm)
