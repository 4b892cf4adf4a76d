// SPDX-License-Identifier: Apache-2.0
// tensor[index, mask, :, index]: a list with one entry for each leading dimension, in which an
// empty tensor stands for a full slice.
#include "entry.h"

using namespace npusim;

namespace {

// Index tensors for some dimensions of a tensor; masks are turned into such by the caller.
class AdvancedIndex {
 public:
  AdvancedIndex(const Tensor& self, const TensorList& indices) : self_(self) {
    for (size_t i = 0; i < indices.items.size(); ++i) {
      const auto& index = indices.items[i];
      if (index == nullptr || (index->size() == 0 && index->rank() <= 1 && !isResult(indices))) {
        continue;
      }
      dims_.push_back(static_cast<int64_t>(i));
      shape_ = broadcastShape(shape_, index->shape);
    }
    for (int64_t dim : dims_) values_.push_back(load<int64_t>(*indices.items[dim], shape_));
    for (int64_t dim = 0; dim < self.rank(); ++dim) {
      if (!indexed(dim)) kept_.push_back(dim);
    }
  }

  // Positions in dense `self`, in the order of the result: where the indexed dimensions stand
  // together, their result takes their place, otherwise it comes first.
  Values<int64_t> positions() const {
    const Shape strides = denseStrides(self_.shape);
    const bool together = dims_.empty() || dims_.back() - dims_.front() + 1 ==
                                               static_cast<int64_t>(dims_.size());
    const size_t before = together && !dims_.empty() ? static_cast<size_t>(dims_.front()) : 0;
    const Shape outer = kept_.part(0, before), inner = kept_.part(before, kept_.size());
    const Values<int64_t> outer_steps = steps(outer), inner_steps = steps(inner);
    Values<int64_t> result;
    for (int64_t o : outer_steps) {
      for (int64_t i = 0; i < product(shape_); ++i) {
        int64_t base = o;
        for (size_t d = 0; d < dims_.size(); ++d) base += wrapped(d, i) * strides[dims_[d]];
        for (int64_t n : inner_steps) result.push_back(base + n);
      }
    }
    return result;
  }

 private:
  bool isResult(const TensorList& indices) const {
    // Every index empty means an empty selection, not a list of full slices.
    for (const auto& index : indices.items) {
      if (index == nullptr || index->size() != 0) return false;
    }
    return true;
  }
  bool indexed(int64_t dim) const {
    for (int64_t other : dims_) {
      if (other == dim) return true;
    }
    return false;
  }
  int64_t wrapped(size_t d, int64_t i) const {
    const int64_t extent = self_.shape[dims_[d]], index = values_[d][i];
    if (index < -extent || index >= extent) {
      throw DeviceFault("index " + std::to_string(index) + " is out of range " +
                      std::to_string(extent));
    }
    return index < 0 ? index + extent : index;
  }
  // Offsets of all combinations of coordinates of the given dimensions.
  Values<int64_t> steps(const Shape& dims) const {
    const Shape strides = denseStrides(self_.shape);
    Values<int64_t> result{0};
    for (int64_t dim : dims) {
      Values<int64_t> longer;
      for (int64_t base : result) {
        for (int64_t i = 0; i < self_.shape[dim]; ++i) longer.push_back(base + i * strides[dim]);
      }
      result.swap(longer);
    }
    return result;
  }

  const Tensor& self_;
  Shape dims_, kept_, shape_;
  Values<Values<int64_t>> values_;
};

void Index(const Tensor& self, const TensorList& indices, const Tensor& out) {
  if (out.size() == 0) return;
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    const Values<T> values = load<T>(self);
    Values<T> result;
    for (int64_t at : AdvancedIndex(self, indices).positions()) result.push_back(values[at]);
    store(out, result);
  });
}

void IndexPutImpl(const Tensor& self, const TensorList& indices, const Tensor& source,
                  bool accumulate, bool) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    const Values<int64_t> positions = AdvancedIndex(self, indices).positions();
    Values<T> values = load<T>(self);
    const Values<T> given = load<T>(source);
    for (size_t i = 0; i < positions.size() && !given.empty(); ++i) {
      // A source of fewer elements is repeated, which covers broadcasting leading dimensions.
      const T value = given[i % given.size()];
      values[positions[i]] = accumulate ? values[positions[i]] + value : value;
    }
    store(self, values);
  });
}

}  // namespace

ACLNN(Index, Index)
ACLNN(IndexPutImpl, IndexPutImpl)
