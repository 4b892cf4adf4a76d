// SPDX-License-Identifier: Apache-2.0
// Selection by a mask or by value: outputs whose size is known only afterwards.
#include <algorithm>
#include <map>

#include "pointwise.h"

using namespace npusim;

namespace {

// `out` has room for every element; its view is narrowed to what was found, which the caller
// reads back with aclGetViewShape.
void narrow(Tensor& out, const Shape& shape) {
  out.shape = shape;
  out.strides = denseStrides(shape);
}

void MaskedSelect(const Tensor& self, const Tensor& mask, Tensor& out) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    const Shape shape = broadcastShape(self.shape, mask.shape);
    const Values<T> values = load<T>(self, shape);
    const Values<int64_t> wanted = load<int64_t>(mask, shape);
    Values<T> selected;
    for (size_t i = 0; i < values.size(); ++i) {
      if (wanted[i] != 0) selected.push_back(values[i]);
    }
    narrow(out, {static_cast<int64_t>(selected.size())});
    store(out, selected);
  });
}

Values<int64_t> nonzeroPositions(const Tensor& self) {
  const Values<double> values = load<double>(self);
  Values<int64_t> positions;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

int64_t coordinate(const Tensor& self, const Shape& strides, int64_t position, int64_t dim) {
  return (position / strides[dim]) % self.shape[dim];
}

void Nonzero(const Tensor& self, Tensor& out) {
  const Values<int64_t> positions = nonzeroPositions(self);
  const Shape strides = denseStrides(self.shape);
  Values<int64_t> coordinates;
  for (int64_t position : positions) {
    for (int64_t dim = 0; dim < self.rank(); ++dim) {
      coordinates.push_back(coordinate(self, strides, position, dim));
    }
  }
  narrow(out, {static_cast<int64_t>(positions.size()), self.rank()});
  store(out, coordinates);
}

// The transposed form: one line for each dimension.
void NonzeroV2(const Tensor& self, Tensor& out) {
  const Values<int64_t> positions = nonzeroPositions(self);
  const Shape strides = denseStrides(self.shape);
  Values<int64_t> coordinates;
  for (int64_t dim = 0; dim < self.rank(); ++dim) {
    for (int64_t position : positions) {
      coordinates.push_back(coordinate(self, strides, position, dim));
    }
  }
  narrow(out, {self.rank(), static_cast<int64_t>(positions.size())});
  store(out, coordinates);
}

void Unique2(const Tensor& self, bool, bool, bool, Tensor& values, Tensor& inverse,
             Tensor& counts) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    const Values<T> all = load<T>(self);
    std::map<T, int64_t> times;
    for (T value : all) ++times[value];
    Values<T> unique;
    Values<int64_t> found, origin;
    for (const auto& [value, count] : times) unique.push_back(value), found.push_back(count);
    for (T value : all) {
      origin.push_back(std::lower_bound(unique.begin(), unique.end(), value) - unique.begin());
    }
    narrow(values, {static_cast<int64_t>(unique.size())});
    store(values, unique);
    if (inverse.size() == self.size()) store(inverse, origin);
    if (counts.size() >= static_cast<int64_t>(found.size())) {
      narrow(counts, {static_cast<int64_t>(found.size())});
      store(counts, found);
    }
  });
}

void fillMasked(const Tensor& self, const Tensor& mask, const Values<double>& values) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    map2<T>(self, self, mask, [value = static_cast<T>(values.at(0))](T x, T masked) {
      return masked != 0 ? value : x;
    });
  });
}
void InplaceMaskedFillScalar(const Tensor& self, const Tensor& mask, const Scalar& value) {
  fillMasked(self, mask, {value.as<double>()});
}
void InplaceMaskedFillTensor(const Tensor& self, const Tensor& mask, const Tensor& value) {
  fillMasked(self, mask, load<double>(value));
}

void InplaceMaskedScatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    Values<T> values = load<T>(self);
    const Values<T> taken = load<T>(source);
    const Values<int64_t> wanted = load<int64_t>(mask, self.shape);
    size_t next = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (wanted[i] != 0) values[i] = taken.at(next++);
    }
    store(self, values);
  });
}

void Bincount(const Tensor& self, const Tensor* weights, int64_t, const Tensor& out) {
  const Values<int64_t> bins = load<int64_t>(self);
  Values<double> counts(out.size(), 0);
  Values<double> weight(bins.size(), 1);
  if (weights != nullptr) weight = load<double>(*weights);
  for (size_t i = 0; i < bins.size(); ++i) counts.at(bins[i]) += weight[i];
  store(out, counts);
}

}  // namespace

ACLNN(MaskedSelect, MaskedSelect)
ACLNN(Nonzero, Nonzero)
ACLNN(NonzeroV2, NonzeroV2)
ACLNN(Unique2, Unique2)
ACLNN(InplaceMaskedFillScalar, InplaceMaskedFillScalar)
ACLNN(InplaceMaskedFillTensor, InplaceMaskedFillTensor)
ACLNN(InplaceMaskedScatter, InplaceMaskedScatter)
ACLNN(Bincount, Bincount)
