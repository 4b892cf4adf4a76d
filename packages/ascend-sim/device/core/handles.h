// SPDX-License-Identifier: Apache-2.0
// Every object that crosses the C boundary is registered with its kind. A caller that passes a
// wrong argument, because an operator's signature is declared wrongly here, gets an error instead
// of a crash: an unknown pointer is never dereferenced, and an object that another thread destroys
// lives until the call that uses it ends.
#pragma once

#include <memory>

#include "errors.h"

namespace npusim {

enum class Kind { Tensor, Scalar, IntArray, FloatArray, BoolArray, TensorList, ScalarList,
                  Executor, Stream, Event, Context, DataBuffer, TensorDesc, OperatorAttr,
                  Communicator, PhysicalMemory, Graph, TensorItem, TensorDataset, TensorChannel,
                  TaskGroup };

const char* kindName(Kind kind);
void registerHandle(const std::shared_ptr<void>& object, Kind kind);
// The object of a handle. Both throw if it is not one of that kind.
std::shared_ptr<void> objectOf(const void* handle, Kind kind);
std::shared_ptr<void> unregisterHandle(const void* handle, Kind kind);
bool isHandle(const void* handle, Kind kind);

// T names its kind in T::kKind.
template <class T>
T* publish(std::shared_ptr<T> object) {
  registerHandle(object, T::kKind);
  return object.get();
}

template <class T>
std::shared_ptr<T> opened(const void* handle) {
  return std::static_pointer_cast<T>(objectOf(handle, T::kKind));
}

template <class T>
std::shared_ptr<T> withdrawn(const void* handle) {
  return std::static_pointer_cast<T>(unregisterHandle(handle, T::kKind));
}

}  // namespace npusim
