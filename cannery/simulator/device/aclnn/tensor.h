// SPDX-License-Identifier: Apache-2.0
// The arguments of aclnn operators: strided views of device memory, scalars and lists.
#pragma once

#include <initializer_list>
#include <vector>

#include "../core/handles.h"
#include "number.h"

namespace npusim {

using Shape = std::vector<int64_t>;

struct Tensor {
  static constexpr Kind kKind = Kind::Tensor;
  DataType dtype;
  Shape shape;
  Shape strides;   // in elements
  int64_t offset;  // in elements
  uint8_t* storage;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t size() const;
  int64_t dim(int64_t index) const { return shape[wrapped(index)]; }
  int64_t wrapped(int64_t index) const;  // -1 is the last dimension; throws outside
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
  std::vector<Element> items;
};

using IntArray = List<int64_t, Kind::IntArray>;
using FloatArray = List<float, Kind::FloatArray>;
using BoolArray = List<uint8_t, Kind::BoolArray>;
using TensorList = List<Tensor*, Kind::TensorList>;  // an item may be null: an absent tensor
using ScalarList = List<Scalar*, Kind::ScalarList>;

int64_t product(const Shape& shape);
Shape denseStrides(const Shape& shape);
Shape broadcastShape(const Shape& a, const Shape& b);

// Dense row-major elements of a view, as int64_t or double; `shape` broadcasts the view first.
template <class T>
std::vector<T> load(const Tensor& tensor, const Shape& shape);
template <class T>
std::vector<T> load(const Tensor& tensor) {
  return load<T>(tensor, tensor.shape);
}

template <class T>
void store(const Tensor& tensor, const std::vector<T>& values);

// One number of a tensor of one element.
template <class T>
T single(const Tensor& tensor) {
  return load<T>(tensor).at(0);
}

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
