// SPDX-License-Identifier: Apache-2.0
// The devices that this simulated host has: <driver>/simulated_devices.conf, where <driver> is
// the tree in which the library lies as <driver>/lib64/driver/libascend_hal.so.
#pragma once

#include <cstdint>

#include "driver_api.h"

namespace npusim {

struct DeviceDescription {
  uint32_t count = 0;
  ChipFacts chip{};
  uint64_t memory_mb = 0;  // of one device
  uint64_t host = 0;  // tells this simulated host from others
};

// A missing or bad file is told on stderr and means no devices.
const DeviceDescription& describedDevices();

}  // namespace npusim
