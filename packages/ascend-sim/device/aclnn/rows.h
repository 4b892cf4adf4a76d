// SPDX-License-Identifier: Apache-2.0
// A tensor seen as rows: each row holds the elements that an operator works on together (the
// reduced dimensions, the sorted dimension), and there is one row for every other position.
#pragma once

#include "entry.h"

namespace npusim {

template <class T>
struct Rows {
  int64_t count;
  int64_t length;
  Values<T> values;

  T* row(int64_t index) { return values.span(index * length, length); }
};

// The same elements with `dims` moved behind the others.
Tensor dimsLast(const Tensor& tensor, const Shape& dims);

Shape everyDim(const Tensor& tensor);

// No dimensions means every dimension.
inline Shape dimsOrEvery(const Tensor& tensor, const IntArray* dims) {
  return dims == nullptr || dims->items.empty() ? everyDim(tensor) : dims->items;
}

template <class T>
Rows<T> loadRows(const Tensor& tensor, const Shape& dims) {
  Shape extents;
  for (int64_t dim : tensor.rank() > 0 ? dims : Shape()) extents.push_back(tensor.dim(dim));
  const int64_t length = product(extents);
  return {length == 0 ? 0 : tensor.size() / length, length, load<T>(dimsLast(tensor, dims))};
}

template <class T>
void storeRows(const Tensor& out, const Shape& dims, const Values<T>& values) {
  store(dimsLast(out, dims), values);
}

// One result for each row. `out` has the kept dimensions in order, with or without ones.
template <class T, class Function>
void reduceRows(const Tensor& self, const Shape& dims, const Tensor& out, Function&& function) {
  Rows<T> rows = loadRows<T>(self, dims);
  Values<T> results(out.size());
  for (int64_t i = 0; i < out.size(); ++i) {
    // Rows of no elements still have a result: the sum of nothing is zero.
    results[i] = static_cast<T>(function(rows.row(i), rows.length));
  }
  store(out, results);
}

// Rewrites each row in place and stores it at the same place of `out`.
template <class T, class Function>
void transformRows(const Tensor& self, int64_t dim, const Tensor& out, Function&& function) {
  Rows<T> rows = loadRows<T>(self, {dim});
  for (int64_t i = 0; i < rows.count; ++i) function(rows.row(i), rows.length);
  storeRows(out, {dim}, rows.values);
}

}  // namespace npusim
