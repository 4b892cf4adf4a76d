// SPDX-License-Identifier: Apache-2.0
// Operators that compare the elements of one dimension: where the extreme is, sorting, the k-th.
#include <algorithm>
#include <numeric>

#include "rows.h"

using namespace npusim;

namespace {

// NaN sorts as the greatest number, as in PyTorch.
template <class T>
bool less(T a, T b) {
  return a < b || (b != b && a == a);
}

template <class T>
Values<int64_t> sortedPositions(const T* row, int64_t length, bool descending) {
  Values<int64_t> positions(length);
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(), [&](int64_t a, int64_t b) {
    return descending ? less(row[b], row[a]) : less(row[a], row[b]);
  });
  return positions;
}

// Where the least element is, the first of equal ones; a minimum of numbers and a NaN is the NaN.
template <class T>
Values<int64_t> leastPosition(const T* row, int64_t length) {
  int64_t least = 0;
  for (int64_t i = 1; i < length && row[least] == row[least]; ++i) {
    if (row[i] < row[least] || row[i] != row[i]) least = i;
  }
  return Values<int64_t>(length ? 1 : 0, least);
}

// Stores for each row the elements first..first+count of the order, and where they came from.
void pick(const Tensor& self, int64_t dim, bool descending, int64_t first, int64_t count,
          const Tensor* values, const Tensor& indices, bool least = false) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    Rows<T> rows = loadRows<T>(self, {dim});
    Values<T> picked;
    Values<int64_t> origins;
    for (int64_t i = 0; i < rows.count; ++i) {
      auto positions = least ? leastPosition(rows.row(i), rows.length)
                             : sortedPositions(rows.row(i), rows.length, descending);
      for (int64_t at = first; at < first + count; ++at) {
        origins.push_back(positions.at(at));
        picked.push_back(rows.row(i)[positions[at]]);
      }
    }
    // A reduced output (count 1) may lack the dimension, but then its order is the rows' order.
    auto dims = count == 1 && indices.rank() != self.rank() ? everyDim(indices) : Shape{dim};
    if (values != nullptr) storeRows(*values, dims, picked);
    storeRows(indices, dims, origins);
  });
}

void Sort(const Tensor& self, bool, int64_t dim, bool descending, const Tensor& values,
          const Tensor& indices) {
  pick(self, dim, descending, 0, self.rank() ? self.dim(dim) : 1, &values, indices);
}
void Argsort(const Tensor& self, int64_t dim, bool descending, const Tensor& indices) {
  pick(self, dim, descending, 0, self.rank() ? self.dim(dim) : 1, nullptr, indices);
}
void Topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool, const Tensor& values,
          const Tensor& indices) {
  pick(self, dim, largest, 0, k, &values, indices);
}
void Kthvalue(const Tensor& self, int64_t k, int64_t dim, bool, const Tensor& values,
              const Tensor& indices) {
  pick(self, dim, false, k - 1, 1, &values, indices);
}
void MaxDim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  pick(self, dim, true, 0, 1, &values, indices);
}
void MinDim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  pick(self, dim, false, 0, 1, &values, indices, true);
}
void MedianDim(const Tensor& self, int64_t dim, bool, const Tensor& values,
               const Tensor& indices) {
  int64_t length = self.rank() ? self.dim(dim) : 1;
  pick(self, dim, false, (length - 1) / 2, 1, &values, indices);
}
void ArgMax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  pick(self, dim, true, 0, 1, nullptr, out);
}
void ArgMin(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  pick(self, dim, false, 0, 1, nullptr, out, true);
}

void Median(const Tensor& self, const Tensor& out) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    Values<T> values = load<T>(self);
    auto middle = sortedPositions(values.data(), self.size(), false).at((self.size() - 1) / 2);
    store(out, Values<T>{values[middle]});
  });
}

// The rows of `sorted`, put in the order that `sorter` gives.
Rows<double> orderedRows(const Tensor& sorted, const Tensor* sorter) {
  Rows<double> rows = loadRows<double>(sorted, {-1});
  if (sorter == nullptr) return rows;
  const Values<double> unordered = rows.values;
  const Values<int64_t> order = load<int64_t>(*sorter);
  if (order.size() != unordered.size()) {
    throw Error(kAclnnInvalidParam, "the sorter has another shape than the sequence");
  }
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] < 0 || order[i] >= rows.length) {
      throw Error(kAclnnInvalidParam, "the sorter has an index out of range");
    }
    rows.values[i] = unordered[i - i % rows.length + order[i]];
  }
  return rows;
}

void SearchSorted(const Tensor& sorted, const Tensor& wanted, bool, bool right,
                  const Tensor* sorter, const Tensor& out) {
  Rows<double> rows = orderedRows(sorted, sorter);
  Values<double> values = load<double>(wanted);
  Values<int64_t> found;
  const int64_t per_row = rows.count > 1 ? wanted.size() / rows.count : wanted.size();
  for (size_t i = 0; i < values.size(); ++i) {
    double* row = rows.row(static_cast<int64_t>(i) / std::max<int64_t>(1, per_row));
    double* end = row + rows.length;
    // Written so that NaN comes after every number, as in PyTorch.
    auto before = [](double element, double value) { return !(element >= value); };
    auto after = [](double value, double element) { return element > value; };
    found.push_back((right ? std::upper_bound(row, end, values[i], after)
                           : std::lower_bound(row, end, values[i], before)) - row);
  }
  store(out, found);
}

}  // namespace

ACLNN(Sort, Sort)
ACLNN(Argsort, Argsort)
ACLNN(Topk, Topk)
ACLNN(Kthvalue, Kthvalue)
ACLNN(MaxDim, MaxDim)
ACLNN(MinDim, MinDim)
ACLNN(MedianDim, MedianDim)
ACLNN(Median, Median)
ACLNN(ArgMax, ArgMax)
ACLNN(ArgMin, ArgMin)
ACLNN(SearchSorted, SearchSorted)
