// SPDX-License-Identifier: Apache-2.0
// The devices of this process: what the host driver has, cut down by ASCEND_RT_VISIBLE_DEVICES.
#pragma once

#include <cstdint>
#include <string>

#include "../hal/driver_api.h"

namespace npusim {

// Throws Error with `code` where there is a driver that is not the simulated one.
void requireDriver(int code);

uint32_t deviceCount();
int32_t physicalDevice(int32_t device);  // the id that the host knows it by
uint64_t hostIdentity();                  // as the driver tells it
uint64_t freeOnDevice(int32_t device);    // bytes, less what any process uses
// Throws Error in a process that was forked after the device was used.
void requireOwnProcess();
void requireCard();  // throws Error when the card of this thread's device is lost
bool isLenient();      // whether data types pass that an NPU refuses (NPUSIM_LENIENT=1)
const ChipFacts& chip();  // empty without a device
// Whether it is a 910 or a 310P, which came before the 910B: they lack what later ones have.
bool isFirstGeneration();
const std::string& socName();  // "Ascend910B3"; empty without a device
uint64_t deviceMemory();       // bytes of one device that can be used
int32_t currentDevice();  // of this thread; throws before the first aclrtSetDevice
// The device of threads that set none.
void setDefaultDevice(int32_t device);

}  // namespace npusim
