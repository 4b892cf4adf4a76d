// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements: copies, casts, joining, repeating, reversing, padding.
#include "pointwise.h"

using namespace npusim;

namespace {

// Integers and floats are copied through their own computing type, so that no bit is lost.
void copy(const Tensor& from, const Tensor& to) {
  withComputeType({&from}, [&](auto zero) { store(to, load<decltype(zero)>(from, to.shape)); });
}

void InplaceCopy(const Tensor& self, const Tensor& source) { copy(source, self); }
void Cast(const Tensor& self, int, const Tensor& out) { copy(self, out); }
void ForeachCopy(const TensorList& from, const TensorList& to) {
  for (size_t i = 0; i < from.items.size(); ++i) copy(*from.items[i], *to.items[i]);
}
void Permute(const Tensor& self, const IntArray& order, const Tensor& out) {
  Tensor view = self;
  if (order.items.size() != self.shape.size()) {
    throw Error(kAclnnInvalidParam, "the order has another length than the shape");
  }
  for (size_t i = 0; i < order.items.size(); ++i) {
    view.shape[i] = self.dim(order.items[i]);
    view.strides[i] = self.strides[self.wrapped(order.items[i])];
  }
  copy(view, out);
}

// The part of `whole` that starts at `start` in `dim` and has the given extent there.
Tensor slice(const Tensor& whole, int64_t dim, int64_t start, int64_t extent) {
  Tensor part = whole;
  const int64_t at = whole.wrapped(dim);
  if (start < 0 || extent < 0 || start > whole.dim(at) || extent > whole.dim(at) - start) {
    throw Error(kAclnnInvalidParam, "a part reaches beyond its tensor");
  }
  part.offset += start * whole.strides[at];
  part.shape[at] = extent;
  return part;
}

void Cat(const TensorList& tensors, int64_t dim, const Tensor& out) {
  int64_t start = 0;
  for (const auto& tensor : tensors.items) {
    if (tensor->rank() == 1 && tensor->size() == 0) continue;  // joins with any shape
    const int64_t extent = tensor->dim(dim);
    copy(*tensor, slice(out, dim, start, extent));
    start += extent;
  }
}

void Stack(const TensorList& tensors, int64_t dim, const Tensor& out) {
  for (size_t i = 0; i < tensors.items.size(); ++i) {
    Tensor place = slice(out, dim, static_cast<int64_t>(i), 1);
    const int64_t at = out.wrapped(dim);
    place.shape.erase(place.shape.begin() + at);  // slice() has found it to be there
    place.strides.erase(place.strides.begin() + at);
    copy(*tensors.items[i], place);
  }
}

// origin(dim, index) tells from which index of `self` an index of `out` is taken.
template <class Origin>
void rearrange(const Tensor& self, const Tensor& out, Origin&& origin) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    const Values<T> values = load<T>(self);
    const Shape from = denseStrides(self.shape), to = denseStrides(out.shape);
    const int64_t missing = out.rank() - self.rank();
    if (missing < 0 || (self.size() == 0 && out.size() != 0)) {
      throw Error(kAclnnInvalidParam, "the output does not fit the tensor");
    }
    Values<T> results(out.size());
    for (int64_t i = 0; i < out.size(); ++i) {
      int64_t position = 0;
      for (int64_t dim = missing; dim < out.rank(); ++dim) {
        const int64_t index = (i / to[dim]) % out.shape[dim];
        position += origin(dim - missing, index) * from[dim - missing];
      }
      results[i] = values[position];
    }
    store(out, results);
  });
}

void Repeat(const Tensor& self, const IntArray&, const Tensor& out) {
  rearrange(self, out, [&](int64_t dim, int64_t index) { return index % self.shape[dim]; });
}

void Flip(const Tensor& self, const IntArray& dims, const Tensor& out) {
  Values<bool> flipped(self.shape.size(), false);
  for (int64_t dim : dims.items) flipped[self.wrapped(dim)] = true;
  rearrange(self, out, [&](int64_t dim, int64_t index) {
    return flipped[dim] ? self.shape[dim] - 1 - index : index;
  });
}

void Roll(const Tensor& self, const IntArray& shifts, const IntArray& dims, const Tensor& out) {
  if (dims.items.empty()) {
    const int64_t count = self.size(), shift = count ? shifts.items.at(0) % count : 0;
    withComputeType({&self}, [&](auto zero) {
      auto values = load<decltype(zero)>(self);
      std::rotate(values.begin(), values.begin() + (count - shift) % std::max<int64_t>(1, count),
                  values.end());
      store(out, values);
    });
    return;
  }
  Shape shift(self.shape.size(), 0);
  for (size_t i = 0; i < dims.items.size(); ++i) {
    shift[self.wrapped(dims.items[i])] += shifts.items.at(i);
  }
  rearrange(self, out, [&](int64_t dim, int64_t index) {
    const int64_t extent = self.shape[dim];
    return ((index - shift[dim]) % extent + extent) % extent;
  });
}

// Padding is given for the last dimension first: {before, after, before of the one ahead, ...}.
// A negative amount cuts off.
void ConstantPadNd(const Tensor& self, const IntArray& padding, const Scalar& value,
                   const Tensor& out) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    store(out, Values<T>(out.size(), value.as<T>()));
  });
  Tensor from = self, to = out;
  for (size_t i = 0; i < padding.items.size() / 2; ++i) {
    const int64_t dim = self.rank() - 1 - static_cast<int64_t>(i);
    const int64_t before = padding.items[2 * i], after = padding.items[2 * i + 1];
    const int64_t cut = std::min<int64_t>(0, before) + std::min<int64_t>(0, after);
    const int64_t extent = self.dim(dim) + cut;
    from = slice(from, dim, std::max<int64_t>(0, -before), extent);
    to = slice(to, dim, std::max<int64_t>(0, before), extent);
  }
  copy(from, to);
}

}  // namespace

ACLNN(InplaceCopy, InplaceCopy)
ACLNN(Cast, Cast)
ACLNN(ForeachCopy, ForeachCopy)
ACLNN(Permute, Permute)
ACLNN(Cat, Cat)
ACLNN(Stack, Stack)
ACLNN(Repeat, Repeat)
ACLNN(Flip, Flip)
ACLNN(Roll, Roll)
ACLNN(ConstantPadNd, ConstantPadNd)
