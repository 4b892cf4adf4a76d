// SPDX-License-Identifier: Apache-2.0
// The host's driver library, which is believed only when it is the simulator's, of this version.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "driver_api.h"

namespace npusim {

struct Driver {
  GetDeviceNumber device_number;
  GetChipInfo chip_info;
  GetMemoryInfo memory_info;
  GetHostIdentity host_identity;
  GetUsers users;
  GetChipFacts chip_facts;
};

// A driver library that was found and is not used; the message says why, and what to do.
struct ForeignDriver : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Nothing where there is no driver library. `user` is what the message calls this program. Throws
// ForeignDriver for a library that is real, or simulated and of another version.
std::optional<Driver> openDriver(const std::string& user);

}  // namespace npusim
