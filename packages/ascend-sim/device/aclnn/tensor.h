// SPDX-License-Identifier: Apache-2.0
// The arguments of aclnn operators: strided views of device memory, scalars and lists.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "../core/handles.h"
#include "number.h"
#include "values.h"

namespace npusim {

using Shape = Values<int64_t>;

struct Tensor {
  static constexpr Kind kKind = Kind::Tensor;
  DataType dtype;
  Shape shape;
  Shape strides;   // in elements
  int64_t offset;  // in elements
  uint8_t* storage;
  // The storage of an operator's input that lies in the host's memory: a copy of it.
  std::shared_ptr<std::vector<uint8_t>> from_host = nullptr;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t size() const;
  // -1 is the last dimension; these throw outside. A number alone has one dimension of one.
  int64_t wrapped(int64_t index) const;
  int64_t dim(int64_t index) const {
    const int64_t at = wrapped(index);
    return shape.empty() ? 1 : shape[at];
  }
};

struct Scalar {
  static constexpr Kind kKind = Kind::Scalar;
  DataType dtype;
  double real;
  int64_t integer;
  double imaginary;  // of complex numbers, which only PyTorch computes with

  template <class T>
  T as() const {
    return std::is_floating_point_v<T> ? static_cast<T>(real) : static_cast<T>(integer);
  }
};

template <class Element, Kind kind>
struct List {
  static constexpr Kind kKind = kind;
  Values<Element> items;
};

using IntArray = List<int64_t, Kind::IntArray>;
using FloatArray = List<float, Kind::FloatArray>;
using BoolArray = List<uint8_t, Kind::BoolArray>;

// An item of a list may be absent: to use it then is an error.
template <class Object>
class Item : public std::shared_ptr<Object> {
 public:
  using std::shared_ptr<Object>::shared_ptr;
  Item(std::shared_ptr<Object> object) : std::shared_ptr<Object>(std::move(object)) {}
  Object& operator*() const { return *this->operator->(); }
  Object* operator->() const {
    if (*this == nullptr) throw Error(kAclnnNullPointer, "an item of a list is missing (null)");
    return this->get();
  }
};
using TensorList = List<Item<Tensor>, Kind::TensorList>;
using ScalarList = List<Item<Scalar>, Kind::ScalarList>;

int64_t product(const Shape& shape);  // throws where that is too large for an int64_t
Shape denseStrides(const Shape& shape);
Shape broadcastShape(const Shape& a, const Shape& b);

// Dense row-major elements of a view, as int64_t or double; `shape` broadcasts the view first. An
// address that is not the device's is an error, except for a view of the host's memory.
enum class Memory { Device, Host };
template <class T>
Values<T> load(const Tensor& tensor, const Shape& shape, Memory memory = Memory::Device);
template <class T>
Values<T> load(const Tensor& tensor, Memory memory = Memory::Device) {
  return load<T>(tensor, tensor.shape, memory);
}

template <class T>
void store(const Tensor& tensor, const Values<T>& values);

// One number of a tensor of one element.
template <class T>
T single(const Tensor& tensor, Memory memory = Memory::Device) {
  return load<T>(tensor, memory).at(0);
}

// Throws Error where a view reaches beyond the device's memory, or is not aligned.
void requireDeviceMemory(const Tensor& tensor);

// Calls action with int64_t{} when every operand holds integers or booleans, otherwise double{}.
template <class Action>
void withComputeType(std::initializer_list<const Tensor*> tensors,
                     std::initializer_list<const Scalar*> scalars, Action&& action) {
  bool floating = false;
  for (const Tensor* tensor : tensors) floating |= tensor && isFloating(tensor->dtype);
  for (const Scalar* scalar : scalars) floating |= scalar && isFloating(scalar->dtype);
  if (floating) {
    action(double{});
  } else {
    action(int64_t{});
  }
}

template <class Action>
void withComputeType(std::initializer_list<const Tensor*> tensors, Action&& action) {
  withComputeType(tensors, {}, action);
}

}  // namespace npusim
