// SPDX-License-Identifier: Apache-2.0
#include "tensor.h"

#include "../aclnn/number.h"

namespace atb {
namespace {

size_t elements(const TensorDesc& desc) {
  size_t count = 1;
  if (desc.shape.count > 8) throw npusim::Error(npusim::kInvalidParam, "more than 8 dimensions");
  for (uint64_t i = 0; i < desc.shape.count; ++i) {
    if (desc.shape.sizes[i] < 0 ||
        __builtin_mul_overflow(count, static_cast<size_t>(desc.shape.sizes[i]), &count)) {
      throw npusim::Error(npusim::kInvalidParam, "the size of a dimension is wrong");
    }
  }
  return count;
}

template <class Element>
Element* data(const Tensor& tensor) {
  return static_cast<Element*>(tensor.deviceData ? tensor.deviceData : tensor.hostData);
}

}  // namespace

Rows::Rows(const Tensor& tensor) : tensor_(tensor), count_(elements(tensor.desc)) {
  if (tensor_.desc.shape.count == 0) throw npusim::Error(npusim::kInvalidParam, "no tensor");
}

size_t Rows::size(size_t dimension) const {
  if (dimension >= shape().count) {
    throw npusim::Error(npusim::kInvalidParam, "a tensor has too few dimensions");
  }
  return static_cast<size_t>(shape().sizes[dimension]);
}

size_t Rows::elementBytes() const { return npusim::elementSize(tensor_.desc.dtype); }

void Rows::requireInside(size_t first, size_t count) const {
  if (first > count_ || count > count_ - first || data<char>(tensor_) == nullptr) {
    throw npusim::Error(npusim::kInvalidParam, "the shapes of the tensors do not fit");
  }
}

char* Rows::bytes(size_t first, size_t count) const {
  requireInside(first, count);
  return data<char>(tensor_) + first * elementBytes();
}

Row Rows::read(size_t first, size_t count) const {
  requireInside(first, count);
  return npusim::withElementType(tensor_.desc.dtype, [&](auto element) {
    const auto* from = data<decltype(element)>(tensor_) + first;
    Row row(count);
    for (size_t i = 0; i < count; ++i) row[i] = npusim::decoded<double>(from[i]);
    return row;
  });
}

void Rows::write(size_t first, const Row& values) const {
  requireInside(first, values.size());
  npusim::withElementType(tensor_.desc.dtype, [&](auto element) {
    auto* to = data<decltype(element)>(tensor_) + first;
    for (size_t i = 0; i < values.size(); ++i) to[i] = npusim::encoded<decltype(element)>(values[i]);
  });
}

int64_t Rows::integer(size_t index) const {
  requireInside(index, 1);
  return npusim::withElementType(tensor_.desc.dtype, [&](auto element) {
    return npusim::decoded<int64_t>(data<decltype(element)>(tensor_)[index]);
  });
}

}  // namespace atb
