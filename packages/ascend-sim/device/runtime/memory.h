// SPDX-License-Identifier: Apache-2.0
// What is known of addresses in device memory.
#pragma once

#include <optional>

#include "arena.h"

namespace npusim {

bool isDeviceMemory(const void* address);  // from aclrtMalloc
// How many bytes from an address on belong to one piece of memory that the device may use; 0 for an
// address that it may not use.
size_t bytesOfDevice(const void* address);    // from aclrtMalloc
size_t bytesOfMapping(const void* address);   // from aclrtMapMem
size_t bytesOfImport(const void* address);    // from aclrtIpcMemImportByKey
size_t bytesOfPinned(const void* address);    // from aclrtMallocHost or aclrtHostRegister
// The device whose aclrtMalloc gave an address.
std::optional<int32_t> deviceOf(const void* address);
// Whether the device may use all of these bytes.
bool isAccessible(const void* address, size_t bytes);
// Counts memory that is not from aclrtMalloc: throws Error when the device is full.
void charge(int32_t device, size_t bytes);
void discharge(int32_t device, size_t bytes);
Place placeOf(const void* address);  // throws Error for any other address

}  // namespace npusim
