// SPDX-License-Identifier: Apache-2.0
// Reading and writing elements at positions that other tensors hold.
#include "rows.h"

using namespace npusim;

namespace {

int64_t checkedIndex(int64_t index, int64_t extent) {
  if (index < -extent || index >= extent) {
    throw DeviceFault("index " + std::to_string(index) + " is out of range " +
                      std::to_string(extent));
  }
  return index < 0 ? index + extent : index;
}

// A number alone counts as a list of one.
Shape atLeastOneDim(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }

constexpr int64_t kNoDim = -1;

// Fails unless `index` has as many dimensions as `whole`, none larger but `dim`.
void requireWithin(const Shape& whole, int64_t dim, const Shape& index) {
  bool within = index.size() == whole.size();
  for (size_t d = 0; within && d < index.size(); ++d) {
    within = static_cast<int64_t>(d) == dim || index[d] <= whole[d];
  }
  if (!within) throw Error(kAclnnInvalidParam, "the index does not fit the tensor's shape");
}

// For each element of `index`, the position in dense `self` that has the same coordinates but
// the element's value in `dim`.
Values<int64_t> positionsAlong(const Tensor& self, int64_t dim, const Tensor& index) {
  Values<int64_t> positions = load<int64_t>(index);
  if (positions.empty()) return positions;
  const Shape whole = atLeastOneDim(self.shape), part = atLeastOneDim(index.shape);
  const Shape strides = denseStrides(whole), own = denseStrides(part);
  requireWithin(whole, dim, part);
  for (int64_t i = 0; i < static_cast<int64_t>(positions.size()); ++i) {
    int64_t position = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(part.size()); ++d) {
      const int64_t at = d == dim ? checkedIndex(positions[i], whole[d])
                                  : (i / own[d]) % part[d];
      position += at * strides[d];
    }
    positions[i] = position;
  }
  return positions;
}

void Gather(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    const Values<T> values = load<T>(self);
    Values<T> gathered;
    for (int64_t at : positionsAlong(self, self.wrapped(dim), index)) {
      gathered.push_back(values[at]);
    }
    store(out, gathered);
  });
}

enum Scattering { kReplace = 0, kAccumulate = 1, kMultiply = 2 };

// `source` has a value for each element of `index`, or one for all.
template <class T>
void scatter(const Tensor& self, int64_t dim, const Tensor& index, const Values<T>& source,
             int64_t scattering, const Tensor& out) {
  Values<T> values = load<T>(self);
  const auto positions = positionsAlong(self, self.wrapped(dim), index);
  for (size_t i = 0; i < positions.size(); ++i) {
    const T value = source.at(source.size() == 1 ? 0 : i);
    T& target = values[positions[i]];
    target = scattering == kAccumulate ? target + value
             : scattering == kMultiply ? target * value
                                       : value;
  }
  store(out, values);
}

void Scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
             int64_t scattering, const Tensor& out) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    Tensor part = source;  // only the part that the index covers is used
    if (index.size() != 0) {
      requireWithin(atLeastOneDim(source.shape), kNoDim, atLeastOneDim(index.shape));
    }
    part.shape = index.shape;
    part.strides.resize(index.shape.size(), 1);
    scatter(self, dim, index, load<T>(part), scattering, out);
  });
}
void InplaceScatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    int64_t scattering) {
  Scatter(self, dim, index, source, scattering, self);
}
void ScatterAdd(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                const Tensor& out) {
  Scatter(self, dim, index, source, kAccumulate, out);
}
void ScatterValue(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                  int64_t scattering, const Tensor& out) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    scatter(self, dim, index, Values<T>{value.as<T>()}, scattering, out);
  });
}
void InplaceScatterValue(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                         int64_t scattering) {
  ScatterValue(self, dim, index, value, scattering, self);
}

void IndexSelect(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    Rows<T> rows = loadRows<T>(self, {dim});
    const Values<int64_t> wanted = load<int64_t>(index);
    Values<T> selected;
    for (int64_t r = 0; r < rows.count; ++r) {
      for (int64_t at : wanted) selected.push_back(rows.row(r)[checkedIndex(at, rows.length)]);
    }
    storeRows(out, {dim}, selected);
  });
}

// One index for each element of a row.
template <class T>
Values<int64_t> indicesFor(const Rows<T>& rows, const Tensor& index) {
  Values<int64_t> indices = load<int64_t>(index);
  if (static_cast<int64_t>(indices.size()) != rows.length) {
    throw Error(kAclnnInvalidParam, "the index has another length than the source");
  }
  return indices;
}

void IndexAdd(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
              const Scalar& alpha, const Tensor& out) {
  withComputeType({&self}, {&alpha}, [&](auto zero) {
    using T = decltype(zero);
    Rows<T> rows = loadRows<T>(self, {dim}), added = loadRows<T>(source, {dim});
    const Values<int64_t> wanted = indicesFor(added, index);
    for (int64_t r = 0; r < rows.count; ++r) {
      for (size_t i = 0; i < wanted.size(); ++i) {
        rows.row(r)[checkedIndex(wanted[i], rows.length)] += alpha.as<T>() * added.row(r)[i];
      }
    }
    storeRows(out, {dim}, rows.values);
  });
}

void InplaceIndexCopy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    Rows<T> rows = loadRows<T>(self, {dim}), taken = loadRows<T>(source, {dim});
    const Values<int64_t> wanted = indicesFor(taken, index);
    for (int64_t r = 0; r < rows.count; ++r) {
      for (size_t i = 0; i < wanted.size(); ++i) {
        rows.row(r)[checkedIndex(wanted[i], rows.length)] = taken.row(r)[i];
      }
    }
    storeRows(self, {dim}, rows.values);
  });
}

// Rows of a table: the shape of the result is that of the indices, then that of a row.
void Embedding(const Tensor& weight, const Tensor& indices, const Tensor& out) {
  const Values<double> table = load<double>(weight);
  const int64_t width = weight.dim(1);
  Values<double> result;
  for (int64_t index : load<int64_t>(indices)) {
    const double* row = table.span(checkedIndex(index, weight.dim(0)) * width, width);
    result.insert(result.end(), row, row + width);
  }
  store(out, result);
}

void EmbeddingDenseBackward(const Tensor& gradient, const Tensor& indices, int64_t,
                            int64_t padding, bool by_frequency, const Tensor& out) {
  const Values<double> rows = load<double>(gradient);
  const Values<int64_t> wanted = load<int64_t>(indices);
  const int64_t width = out.dim(1);
  Values<double> result(out.size(), 0), times(out.dim(0), 0);
  for (int64_t index : wanted) ++times.at(index);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == padding) continue;
    const double share = by_frequency ? 1 / times[wanted[i]] : 1;
    for (int64_t c = 0; c < width; ++c) {
      result[wanted[i] * width + c] += share * rows[i * width + c];
    }
  }
  store(out, result);
}

}  // namespace

ACLNN(Gather, Gather)
ACLNN(Scatter, Scatter)
ACLNN(InplaceScatter, InplaceScatter)
ACLNN(ScatterAdd, ScatterAdd)
ACLNN(ScatterValue, ScatterValue)
ACLNN(InplaceScatterValue, InplaceScatterValue)
ACLNN(IndexSelect, IndexSelect)
ACLNN(IndexAdd, IndexAdd)
ACLNN(InplaceIndexCopy, InplaceIndexCopy)
ACLNN(Embedding, Embedding)
ACLNN(EmbeddingDenseBackward, EmbeddingDenseBackward)
