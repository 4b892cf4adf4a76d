// SPDX-License-Identifier: Apache-2.0
// Every object that crosses the C boundary is registered with its kind. A caller that passes a
// wrong argument, because an operator's signature is declared wrongly here, gets an error instead
// of a crash: an unknown pointer is never dereferenced.
#pragma once

#include <memory>

#include "errors.h"

namespace npusim {

enum class Kind { Tensor, Scalar, IntArray, FloatArray, BoolArray, TensorList, ScalarList,
                  Executor, Stream, Event, Context, DataBuffer, TensorDesc, OperatorAttr,
                  Communicator, PhysicalMemory, Graph,
                  TaskGroup };

const char* kindName(Kind kind);
void registerHandle(const void* handle, Kind kind);
void unregisterHandle(const void* handle, Kind kind);  // throws if it is not one of that kind
void checkHandle(const void* handle, Kind kind);       // throws if it is not one of that kind
bool isHandle(const void* handle, Kind kind);

// T names its kind in T::kKind.
template <class T>
T* publish(std::unique_ptr<T> object) {
  registerHandle(object.get(), T::kKind);
  return object.release();
}

template <class T>
T& opened(const void* handle) {
  checkHandle(handle, T::kKind);
  return *static_cast<T*>(const_cast<void*>(handle));
}

template <class T>
std::unique_ptr<T> withdrawn(const void* handle) {
  unregisterHandle(handle, T::kKind);
  return std::unique_ptr<T>(static_cast<T*>(const_cast<void*>(handle)));
}

}  // namespace npusim
