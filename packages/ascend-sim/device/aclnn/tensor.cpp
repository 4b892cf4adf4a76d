// SPDX-License-Identifier: Apache-2.0
#include "tensor.h"

#include <algorithm>

#include "../runtime/devices.h"
#include "../runtime/memory.h"
#include "../torch/element_types.h"

namespace npusim {
namespace {

std::string text(const Shape& shape) {
  std::string result = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    result += (i ? ", " : "") + std::to_string(shape[i]);
  }
  return result + "]";
}

Shape broadcastStrides(const Tensor& tensor, const Shape& shape) {
  Shape strides(shape.size(), 0);
  size_t missing = shape.size() - tensor.shape.size();
  if (tensor.shape.size() > shape.size()) missing = shape.size() + 1;
  for (size_t i = 0; i < tensor.shape.size() && missing <= shape.size(); ++i) {
    if (tensor.shape[i] == shape[missing + i]) {
      strides[missing + i] = tensor.strides[i];
    } else if (tensor.shape[i] != 1) {
      missing = shape.size() + 1;
    }
  }
  if (missing > shape.size()) {
    throw Error(kAclnnInvalidParam,
                "shape " + text(tensor.shape) + " does not fit " + text(shape));
  }
  return strides;
}

// The dimensions of a view without those of one element. What lies behind one another is one
// dimension, so that rows are long.
struct Dimensions {
  std::vector<int64_t> extents, steps;

  Dimensions(const Shape& shape, const Shape& strides) {
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t extent = shape[i], step = strides[i];
      if (extent == 1) continue;
      if (!steps.empty() && steps.back() == step * extent) {
        extents.back() *= extent;
        steps.back() = step;
      } else {
        extents.push_back(extent);
        steps.push_back(step);
      }
    }
  }
};

// Calls visit(offset) for each element in row-major order.
template <class Visit>
void walk(const Shape& shape, const Shape& strides, int64_t offset, Visit&& visit) {
  if (product(shape) == 0) return;
  const Dimensions dims(shape, strides);
  if (dims.extents.empty()) return visit(offset);
  const size_t last = dims.extents.size() - 1;
  const int64_t count = dims.extents[last], step = dims.steps[last];
  std::vector<int64_t> index(last, 0);
  while (true) {
    if (step == 1) {
      for (int64_t at = offset; at < offset + count; ++at) visit(at);  // which compilers vectorise
    } else {
      for (int64_t i = 0, at = offset; i < count; ++i, at += step) visit(at);
    }
    size_t dim = last;
    while (true) {
      if (dim == 0) return;
      --dim;
      offset += dims.steps[dim];
      if (++index[dim] < dims.extents[dim]) break;
      offset -= dims.steps[dim] * dims.extents[dim];
      index[dim] = 0;
    }
  }
}

}  // namespace

int64_t Tensor::size() const { return product(shape); }

int64_t Tensor::wrapped(int64_t index) const {
  int64_t dims = rank() == 0 ? 1 : rank();
  if (index < -dims || index >= dims) {
    throw Error(kAclnnInvalidParam, "dimension " + std::to_string(index) + " of " + text(shape));
  }
  return index < 0 ? index + dims : index;
}

int64_t product(const Shape& shape) {
  int64_t result = 1;
  for (int64_t extent : shape) {
    if (extent == 0) return 0;
    if (extent < 0 || __builtin_mul_overflow(result, extent, &result)) {
      throw Error(kAclnnInvalidParam, "impossible extents " + text(shape));
    }
  }
  return result;
}

void requireDeviceMemory(const Tensor& tensor) {
  if (tensor.size() == 0 || tensor.from_host) return;
  __int128 first = tensor.offset, last = tensor.offset;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const __int128 reach = static_cast<__int128>(tensor.shape[i] - 1) * tensor.strides[i];
    (reach < 0 ? first : last) += reach;
  }
  const auto bytes = static_cast<int64_t>(bytesOfElement(tensor.dtype));
  const __int128 start = reinterpret_cast<intptr_t>(tensor.storage) + first * bytes;
  const __int128 size = (last - first + 1) * bytes;
  // A complex number is aligned like each of its two parts.
  const bool aligned = start % std::min<int64_t>(bytes, 8) == 0;
  if (!aligned || start < 0 || start > INT64_MAX || size > INT64_MAX ||
      !isAccessible(reinterpret_cast<void*>(static_cast<intptr_t>(start)),
                    static_cast<size_t>(size))) {
    throw Error(kVectorCoreException,
                "a tensor " + text(tensor.shape) + " with strides " + text(tensor.strides) +
                    " reaches an address that is not the device's, or is not aligned");
  }
  const auto owner = deviceOf(reinterpret_cast<void*>(static_cast<intptr_t>(start)));
  if (owner && *owner != currentDevice()) {
    throw DeviceFault("a tensor is in the memory of device " + std::to_string(*owner) +
                      ", and the operator runs on device " + std::to_string(currentDevice()));
  }
}

Shape denseStrides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  product(shape);  // throws where a stride would be impossible
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Shape broadcastShape(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) {
      throw Error(kAclnnInvalidParam, "shapes " + text(a) + " and " + text(b) + " do not fit");
    }
    result[result.size() - 1 - i] = left == 1 ? right : left;
  }
  return result;
}

template <class T>
Values<T> load(const Tensor& tensor, const Shape& shape, Memory memory) {
  Shape strides = broadcastStrides(tensor, shape);
  if (memory == Memory::Device) requireDeviceMemory(tensor);
  Values<T> values(product(shape));
  withElementType(tensor.dtype, [&](auto element) {
    using Element = decltype(element);
    auto* elements = reinterpret_cast<const Element*>(tensor.storage);
    T* next = values.data();
    walk(shape, strides, tensor.offset,
         [&](int64_t at) { *next++ = decoded<T>(elements[at]); });
  });
  return values;
}

template <class T>
void store(const Tensor& tensor, const Values<T>& values) {
  if (static_cast<int64_t>(values.size()) != tensor.size()) {
    throw Error(kAclnnInvalidParam, std::to_string(values.size()) + " results for the output " +
                                        text(tensor.shape));
  }
  requireDeviceMemory(tensor);
  withElementType(tensor.dtype, [&](auto element) {
    using Element = decltype(element);
    auto* elements = reinterpret_cast<Element*>(tensor.storage);
    const T* next = values.data();
    walk(tensor.shape, tensor.strides, tensor.offset,
         [&](int64_t at) { elements[at] = encoded<Element>(*next++); });
  });
}

template Values<int64_t> load(const Tensor&, const Shape&, Memory);
template Values<double> load(const Tensor&, const Shape&, Memory);
template void store(const Tensor&, const Values<int64_t>&);
template void store(const Tensor&, const Values<double>&);

}  // namespace npusim
