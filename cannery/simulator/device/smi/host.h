// SPDX-License-Identifier: Apache-2.0
// What npu-smi knows of the host: the devices that the driver library reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace npusim {

struct Chip {
  std::string name;
  uint64_t hbm_mb;
};

struct Host {
  std::string driver_version;  // ends in -sim
  std::vector<Chip> chips;
};

// Throws ForeignDriver when the driver library is not the simulator's, and std::runtime_error when
// there is none or it has no device.
Host readHost();

}  // namespace npusim
