// SPDX-License-Identifier: Apache-2.0
// The few functions of libascend_hal.so that the runtime and npu-smi call, with the vendor's names.
#pragma once

#include <cstdint>

#include "usage.h"

namespace npusim {

enum DriverStatus : int32_t {
  kDriverOk = 0,
  kDriverNoDevice = 1,
  kDriverInvalidDevice = 2,
  kDriverInvalidValue = 3,
  kDriverNotSupported = 0xfffe,
};

struct ChipInfo {
  char type[32];
  char name[32];
  char version[32];
};

struct DriverMemoryInfo {
  uint64_t total;
  uint64_t free;
};

constexpr uint32_t kDriverMemoryHbm = 1;

// Only the simulator's own driver libraries have this function, so that no other passes for one.
// Count up when what the driver tells, or how, changes: an older driver is refused then.
constexpr uint32_t kDriverProtocol = 2;
constexpr const char* kProtocolFunction = "npusim_driver_protocol";
constexpr const char* kDriverLibrary = "libascend_hal.so";

using GetProtocol = uint32_t (*)();
using GetHostIdentity = uint64_t (*)();
// Writes at most `most` of the processes that use the device and returns how many there are.
using GetUsers = uint32_t (*)(uint32_t device, ProcessUsage* users, uint32_t most);
using GetDeviceNumber = int32_t (*)(uint32_t* count);
using GetChipInfo = int32_t (*)(uint32_t device, ChipInfo* info);
using GetMemoryInfo = int32_t (*)(uint32_t device, uint32_t type, DriverMemoryInfo* info);

}  // namespace npusim
