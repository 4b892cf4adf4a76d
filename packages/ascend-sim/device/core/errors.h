// SPDX-License-Identifier: Apache-2.0
// Errors inside the library are exceptions; at the C boundary they become a code and a message.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "acl_types.h"

namespace npusim {

struct Error : std::runtime_error {
  Error(int code, const std::string& message) : std::runtime_error(message), code(code) {}
  int code;
};

// What a kernel meets while it runs, which the host hears of when it waits for the device
// (runtime/device_faults.h).
struct DeviceFault : Error {
  explicit DeviceFault(const std::string& message) : Error(kVectorCoreException, message) {}
};

// Keeps the message for aclGetRecentErrMsg of this thread and returns the code.
int report(int code, const std::string& message);

template <class Action>
int guarded(Action&& action) noexcept {
  try {
    action();
    return kSuccess;
  } catch (const Error& error) {
    return report(error.code, error.what());
  } catch (const std::bad_alloc&) {
    return report(kInternalError, "the host has not enough memory for this call");
  } catch (const std::exception& error) {
    return report(kInternalError, error.what());
  }
}

// What a caller's pointer leads to, which must not be null.
template <class T>
T& given(T* pointer) {
  if (pointer == nullptr) throw Error(kInvalidParam, "a null pointer");
  return *pointer;
}

}  // namespace npusim

#define NPUSIM_API extern "C" __attribute__((visibility("default")))
