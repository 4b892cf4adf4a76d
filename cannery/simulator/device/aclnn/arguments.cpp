// SPDX-License-Identifier: Apache-2.0
// The exported functions that make and destroy operator arguments.
#include <cstdlib>
#include <cstring>

#include "../torch/element_types.h"
#include "entry.h"
#include "number.h"

using namespace npusim;

namespace {

template <class ListType, class Element>
void* newArray(const Element* values, uint64_t size) {
  void* result = nullptr;
  guarded([&] {
    auto list = std::make_unique<ListType>();
    for (uint64_t i = 0; i < size; ++i) list->items.push_back(values[i]);
    result = publish(std::move(list));
  });
  return result;
}

template <class ListType, class Item>
void* newList(void* const* handles, uint64_t size) {
  void* result = nullptr;
  guarded([&] {
    auto list = std::make_unique<ListType>();
    for (uint64_t i = 0; i < size; ++i) {
      list->items.push_back(handles[i] ? &opened<Item>(handles[i]) : nullptr);
    }
    result = publish(std::move(list));
  });
  return result;
}

template <class Real>
Scalar complexOf(DataType dtype, const void* value) {
  Real parts[2];
  std::memcpy(parts, value, sizeof parts);
  return {dtype, static_cast<double>(parts[0]), 0, static_cast<double>(parts[1])};
}

Scalar complexScalar(DataType dtype, const void* value) {
  return bytesOfElement(dtype) == 16 ? complexOf<double>(dtype, value)
         : bytesOfElement(dtype) == 8 ? complexOf<float>(dtype, value)
                                      : complexOf<Half>(dtype, value);
}

template <class Object>
int destroy(const void* handle) {
  return guarded([&] { withdrawn<Object>(handle); });
}

// A list owns its items, as in the vendor's library.
template <class ListType, class Item>
int destroyList(const void* handle) {
  return guarded([&] {
    std::unique_ptr<ListType> list = withdrawn<ListType>(handle);
    for (Item* item : list->items) {
      if (item != nullptr) withdrawn<Item>(item);
    }
  });
}

}  // namespace

NPUSIM_API void* aclCreateTensor(const int64_t* dims, uint64_t rank, int32_t dtype,
                                 const int64_t* strides, int64_t offset, int32_t,
                                 const int64_t*, uint64_t, void* data) {
  void* result = nullptr;
  guarded([&] {
    Shape shape(dims, dims + rank);
    Shape steps = strides ? Shape(strides, strides + rank) : denseStrides(shape);
    result = publish(std::make_unique<Tensor>(Tensor{static_cast<DataType>(dtype), shape, steps,
                                                     offset, static_cast<uint8_t*>(data)}));
  });
  return result;
}

NPUSIM_API void* aclCreateScalar(void* value, int32_t dtype) {
  void* result = nullptr;
  guarded([&] {
    auto type = static_cast<DataType>(dtype);
    if (isComplex(type)) {
      result = publish(std::make_unique<Scalar>(complexScalar(type, value)));
      return;
    }
    Tensor view{type, {}, {}, 0, static_cast<uint8_t*>(value)};
    result = publish(std::make_unique<Scalar>(
        Scalar{type, single<double>(view), encoded<int64_t>(single<double>(view)), 0}));
    if (!isFloating(type)) opened<Scalar>(result).integer = single<int64_t>(view);
  });
  return result;
}

NPUSIM_API void* aclCreateIntArray(const int64_t* values, uint64_t size) {
  return newArray<IntArray>(values, size);
}
NPUSIM_API void* aclCreateFloatArray(const float* values, uint64_t size) {
  return newArray<FloatArray>(values, size);
}
NPUSIM_API void* aclCreateBoolArray(const uint8_t* values, uint64_t size) {
  return newArray<BoolArray>(values, size);
}
NPUSIM_API void* aclCreateTensorList(void* const* tensors, uint64_t size) {
  return newList<TensorList, Tensor>(tensors, size);
}
NPUSIM_API void* aclCreateScalarList(void* const* scalars, uint64_t size) {
  return newList<ScalarList, Scalar>(scalars, size);
}

NPUSIM_API int aclDestroyTensor(const void* handle) { return destroy<Tensor>(handle); }
NPUSIM_API int aclDestroyScalar(const void* handle) { return destroy<Scalar>(handle); }
NPUSIM_API int aclDestroyIntArray(const void* handle) { return destroy<IntArray>(handle); }
NPUSIM_API int aclDestroyFloatArray(const void* handle) { return destroy<FloatArray>(handle); }
NPUSIM_API int aclDestroyBoolArray(const void* handle) { return destroy<BoolArray>(handle); }
NPUSIM_API int aclDestroyTensorList(const void* handle) {
  return destroyList<TensorList, Tensor>(handle);
}
NPUSIM_API int aclDestroyScalarList(const void* handle) {
  return destroyList<ScalarList, Scalar>(handle);
}
NPUSIM_API int aclDestroyAclOpExecutor(void* handle) { return destroy<Executor>(handle); }

// The caller releases the array with delete[], hence malloc, on which every delete[] builds.
NPUSIM_API int aclGetViewShape(const void* handle, int64_t** dims, uint64_t* rank) {
  return guarded([&] {
    const Shape& shape = opened<Tensor>(handle).shape;
    size_t bytes = shape.size() * sizeof(int64_t);
    *dims = static_cast<int64_t*>(std::malloc(bytes == 0 ? 1 : bytes));
    std::memcpy(*dims, shape.data(), bytes);
    *rank = shape.size();
  });
}
