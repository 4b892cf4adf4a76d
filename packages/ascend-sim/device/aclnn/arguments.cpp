// SPDX-License-Identifier: Apache-2.0
// The exported functions that make and destroy operator arguments.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../runtime/operator_descriptions.h"
#include "../torch/element_types.h"
#include "entry.h"
#include "number.h"

using namespace npusim;

namespace {

void requireItems(const void* items, uint64_t count) {
  if (items == nullptr && count != 0) {
    throw Error(kAclnnNullPointer, std::to_string(count) + " items are missing (null)");
  }
  if (count > kMostElements) {
    throw Error(kAclnnInvalidParam, std::to_string(count) + " items are too many");
  }
}

template <class ListType, class Element>
void* newArray(const Element* values, uint64_t size) {
  void* result = nullptr;
  guarded([&] {
    auto list = std::make_shared<ListType>();
    requireItems(values, size);
    list->items.assign(values, values + size);
    result = publish(std::move(list));
  });
  return result;
}

template <class ListType, class Object>
void* newList(void* const* handles, uint64_t size) {
  void* result = nullptr;
  guarded([&] {
    auto list = std::make_shared<ListType>();
    requireItems(handles, size);
    for (uint64_t i = 0; i < size; ++i) {
      list->items.push_back(handles[i] ? opened<Object>(handles[i]) : nullptr);
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

Scalar scalarOf(DataType dtype, void* value) {
  if (isComplex(dtype)) return complexScalar(dtype, value);
  // A caller's number may lie anywhere.
  alignas(8) uint8_t number[8];
  std::memcpy(number, value, elementSize(dtype));
  const Tensor view{dtype, {}, {}, 0, number};
  const double real = single<double>(view, Memory::Host);
  return {dtype, real,
          isFloating(dtype) ? encoded<int64_t>(real) : single<int64_t>(view, Memory::Host), 0};
}

// torch_npu destroys what it did not give as well: an exception for each would take longer than a
// small operator.
template <class Object>
int destroy(const void* handle) {
  if (handle == nullptr) {
    return report(kAclnnNullPointer, std::string("a ") + kindName(Object::kKind) + " is missing (null)");
  }
  return guarded([&] { withdrawn<Object>(handle); });
}

// A list owns its items, as in the vendor's library.
template <class ListType, class Object>
int destroyList(const void* handle) {
  return guarded([&] {
    const auto list = withdrawn<ListType>(handle);
    for (const auto& item : list->items) {
      // One item may stand in the list twice, or be destroyed already.
      if (isHandle(item.get(), Object::kKind)) withdrawn<Object>(item.get());
    }
  });
}

}  // namespace

NPUSIM_API void* aclCreateTensor(const int64_t* dims, uint64_t rank, int32_t dtype,
                                 const int64_t* strides, int64_t offset, int32_t,
                                 const int64_t*, uint64_t, void* data) {
  void* result = nullptr;
  guarded([&] {
    requireItems(dims, rank);
    if (rank > kMostDims) throw Error(kAclnnInvalidParam, std::to_string(rank) + " dimensions");
    Shape shape(dims, dims + rank);
    product(shape);  // throws where it is impossible
    Shape steps = strides ? Shape(strides, strides + rank) : denseStrides(shape);
    result = publish(std::make_shared<Tensor>(Tensor{static_cast<DataType>(dtype), shape, steps,
                                                     offset, static_cast<uint8_t*>(data)}));
  });
  return result;
}

NPUSIM_API void* aclCreateScalar(void* value, int32_t dtype) {
  void* result = nullptr;
  guarded([&] {
    if (value == nullptr) throw Error(kAclnnNullPointer, "the value of a scalar is missing (null)");
    result = publish(std::make_shared<Scalar>(scalarOf(static_cast<DataType>(dtype), value)));
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
    const Shape shape = opened<Tensor>(handle)->shape;
    given(rank) = shape.size();
    given(dims) = static_cast<int64_t*>(std::malloc((shape.size() + 1) * sizeof(int64_t)));
    std::copy(shape.begin(), shape.end(), *dims);
  });
}
