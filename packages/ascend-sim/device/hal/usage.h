// SPDX-License-Identifier: Apache-2.0
// Which processes use which device, and how much of its memory. A process that uses a device holds
// an anonymous file with a record of it; who asks looks for those files below /proc. Nothing stays
// behind when a process dies, and a child that it left shows up in its place, as on hardware.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace npusim {

constexpr uint32_t kMostDevices = 64;
constexpr const char* kUsageFile = "npusim_usage";

struct UsageRecord {
  uint64_t host;  // which simulated host: hostIdentity()
  uint8_t opened[kMostDevices];
  uint64_t bytes[kMostDevices];
};

struct ProcessUsage {
  int32_t process;
  uint64_t bytes;
  char name[32];
};

// The processes that have opened the device, of those that this user may look at.
std::vector<ProcessUsage> usersOf(uint64_t host, uint32_t device);

}  // namespace npusim
