// SPDX-License-Identifier: Apache-2.0
// What is known of addresses in device memory.
#pragma once

#include "arena.h"

namespace npusim {

bool isDeviceMemory(const void* address);  // from aclrtMalloc
bool isMappedMemory(const void* address);  // from aclrtMapMem
// Counts memory that is not from aclrtMalloc: throws Error when the device is full.
void charge(int32_t device, size_t bytes);
void discharge(int32_t device, size_t bytes);
Place placeOf(const void* address);  // throws Error for any other address

}  // namespace npusim
