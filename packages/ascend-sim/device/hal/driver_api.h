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

// What the host's settings say of its chips, all of one kind. Texts end with a null character.
struct ChipFacts {
  char name[32];     // as npu-smi's and, after "Ascend", as CANN knows it: 910B3
  char shown[32];    // in the tables of npu-smi
  char memory[8];    // HBM or DDR
  char kernels[32];  // the folder of its kernels in CANN's packages
  char lacks[256];    // collectives that HCCL does not have on it, as "Broadcast,Reduce"
  char reduces[128];  // the types that HCCL reduces on it, as "int8,float16"; empty for any
  uint32_t chips_per_card;
  uint32_t processes_per_chip;  // in one group of HCCL; 0 for any number
  uint32_t cube_cores;
  uint32_t vector_cores;
  uint32_t cache_mb;
  uint32_t architecture;  // CANN's number of it
};

struct DriverMemoryInfo {
  uint64_t total;
  uint64_t free;
};

constexpr uint32_t kDriverMemoryHbm = 1;

// Only the simulator's own driver libraries have this function, so that no other passes for one.
// Count up when what the driver tells, or how, changes: an older driver is refused then.
constexpr uint32_t kDriverProtocol = 3;
constexpr const char* kProtocolFunction = "npusim_driver_protocol";
constexpr const char* kDriverLibrary = "libascend_hal.so";

using GetProtocol = uint32_t (*)();
using GetChipFacts = const ChipFacts* (*)();
using GetHostIdentity = uint64_t (*)();
// Writes at most `most` of the processes that use the device and returns how many there are.
using GetUsers = uint32_t (*)(uint32_t device, ProcessUsage* users, uint32_t most);
using GetDeviceNumber = int32_t (*)(uint32_t* count);
using GetChipInfo = int32_t (*)(uint32_t device, ChipInfo* info);
using GetMemoryInfo = int32_t (*)(uint32_t device, uint32_t type, DriverMemoryInfo* info);

}  // namespace npusim
