// SPDX-License-Identifier: Apache-2.0
// Tensors made from scalars: constants, ranges, the identity, triangles.
#include "pointwise.h"

using namespace npusim;

namespace {

void fill(const Tensor& out, const Scalar& value) {
  withComputeType({}, {&value}, [&](auto zero) {
    using T = decltype(zero);
    store(out, Values<T>(out.size(), value.as<T>()));
  });
}

void InplaceFillScalar(const Tensor& self, const Scalar& value) { fill(self, value); }
void InplaceFillTensor(const Tensor& self, const Tensor& value) {
  withComputeType({&value}, [&](auto zero) {
    store(self, load<decltype(zero)>(value, self.shape));
  });
}
void InplaceZero(const Tensor& self) { store(self, Values<int64_t>(self.size(), 0)); }
void InplaceOne(const Tensor& self) { store(self, Values<int64_t>(self.size(), 1)); }
void ForeachZeroInplace(const TensorList& list) {
  for (const auto& tensor : list.items) InplaceZero(*tensor);
}

void Arange(const Scalar& start, const Scalar&, const Scalar& step, const Tensor& out) {
  withComputeType({&out}, {&start, &step}, [&](auto zero) {
    using T = decltype(zero);
    Values<T> values(out.size());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = start.as<T>() + static_cast<T>(i) * step.as<T>();
    }
    store(out, values);
  });
}

void Linspace(const Scalar& start, const Scalar& end, int64_t steps, const Tensor& out) {
  const double first = start.as<double>(), last = end.as<double>();
  Values<double> values(out.size());
  for (int64_t i = 0; i < out.size(); ++i) {
    const double part = steps > 1 ? static_cast<double>(i) / static_cast<double>(steps - 1) : 0;
    values[i] = first + (last - first) * part;
  }
  store(out, values);
}

void Eye(int64_t, int64_t, const Tensor& out) {
  Values<int64_t> values(out.size(), 0);
  for (int64_t i = 0; i < std::min(out.dim(0), out.dim(1)); ++i) values[i * out.dim(1) + i] = 1;
  store(out, values);
}

template <bool lower>
void triangle(const Tensor& self, int64_t diagonal, const Tensor& out) {
  withComputeType({&self}, [&](auto zero) {
    Values<decltype(zero)> values = load<decltype(zero)>(self);
    const int64_t rows = self.dim(-2), columns = self.dim(-1);
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i);
      const int64_t beyond = at % columns - (at / columns) % rows - diagonal;
      if (lower ? beyond > 0 : beyond < 0) values[i] = 0;
    }
    store(out, values);
  });
}
template <bool lower>
void triangleInplace(const Tensor& self, int64_t diagonal) {
  triangle<lower>(self, diagonal, self);
}

// With `wrap` the diagonal of a tall matrix starts again below its last row, one row left blank.
void InplaceFillDiagonal(const Tensor& self, const Scalar& value, bool wrap) {
  if (self.rank() < 2) throw Error(kAclnnInvalidParam, "a tensor of less than 2 dimensions");
  if (self.size() == 0) return;
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    Values<T> values = load<T>(self);
    int64_t step = 0, length = self.dim(0);
    for (int64_t stride : denseStrides(self.shape)) step += stride;
    for (int64_t extent : self.shape) length = std::min(length, extent);
    const int64_t end = wrap && self.rank() == 2 ? self.size() : (length - 1) * step + 1;
    for (int64_t at = 0; at < end; at += step) values[at] = value.as<T>();
    store(self, values);
  });
}

}  // namespace

ACLNN(InplaceFillScalar, InplaceFillScalar)
ACLNN(InplaceFillTensor, InplaceFillTensor)
ACLNN(InplaceZero, InplaceZero)
ACLNN(InplaceOne, InplaceOne)
ACLNN(ForeachZeroInplace, ForeachZeroInplace)
ACLNN(Arange, Arange)
ACLNN(Range, Arange)
ACLNN(Linspace, Linspace)
ACLNN(Eye, Eye)
ACLNN(Tril, triangle<true>)
ACLNN(InplaceTril, triangleInplace<true>)
ACLNN(Triu, triangle<false>)
ACLNN(InplaceTriu, triangleInplace<false>)
ACLNN(InplaceFillDiagonal, InplaceFillDiagonal)
