// SPDX-License-Identifier: Apache-2.0
// The devices of this process: what the host driver has, cut down by ASCEND_RT_VISIBLE_DEVICES.
#pragma once

#include <cstdint>
#include <string>

namespace npusim {

// Throws Error with `code` where there is a driver that is not the simulated one.
void requireDriver(int code);

uint32_t deviceCount();
const std::string& socName();  // "Ascend910B3"; empty without a device
uint64_t deviceMemory();       // bytes of one device
int32_t currentDevice();       // of this thread; throws before the first aclrtSetDevice

}  // namespace npusim
