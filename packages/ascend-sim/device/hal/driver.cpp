// SPDX-License-Identifier: Apache-2.0
// The simulated host driver: what a real host mounts into a container as libascend_hal.so.
#include <algorithm>
#include <cstdio>

#include "../core/errors.h"
#include "device_description.h"
#include "driver_api.h"

using namespace npusim;

namespace {

constexpr int32_t kApiVersion = 0x071905;
constexpr uint32_t kPlatformHost = 1;

bool known(uint32_t device) { return device < describedDevices().count; }

}  // namespace

NPUSIM_API uint32_t npusim_driver_protocol() { return kDriverProtocol; }

NPUSIM_API const ChipFacts* npusim_driver_chip() { return &describedDevices().chip; }

NPUSIM_API uint64_t npusim_driver_host() { return describedDevices().host; }

NPUSIM_API uint32_t npusim_driver_users(uint32_t device, ProcessUsage* users, uint32_t most) {
  if (!known(device)) return 0;
  const auto found = usersOf(describedDevices().host, device);
  std::copy_n(found.begin(), std::min<size_t>(most, found.size()), users);
  return static_cast<uint32_t>(found.size());
}

NPUSIM_API int32_t drvGetDevNum(uint32_t* count) {
  if (count == nullptr) return kDriverInvalidValue;
  *count = describedDevices().count;
  return *count == 0 ? kDriverNoDevice : kDriverOk;
}

NPUSIM_API int32_t drvGetPlatformInfo(uint32_t* platform) {
  if (platform == nullptr) return kDriverInvalidValue;
  *platform = kPlatformHost;
  return kDriverOk;
}

NPUSIM_API int32_t halGetAPIVersion(int32_t* version) {
  if (version == nullptr) return kDriverInvalidValue;
  *version = kApiVersion;
  return kDriverOk;
}

NPUSIM_API int32_t halGetChipInfo(uint32_t device, ChipInfo* info) {
  if (info == nullptr) return kDriverInvalidValue;
  if (!known(device)) return kDriverInvalidDevice;
  std::snprintf(info->type, sizeof info->type, "Ascend");
  std::snprintf(info->name, sizeof info->name, "%s", describedDevices().chip.name);
  std::snprintf(info->version, sizeof info->version, "V1");
  return kDriverOk;
}

NPUSIM_API int32_t halMemGetInfo(uint32_t device, uint32_t type, DriverMemoryInfo* info) {
  if (info == nullptr || type != kDriverMemoryHbm) return kDriverInvalidValue;
  if (!known(device)) return kDriverInvalidDevice;
  info->total = describedDevices().memory_mb << 20;
  uint64_t used = 0;
  for (const ProcessUsage& user : usersOf(describedDevices().host, device)) used += user.bytes;
  info->free = info->total - std::min(used, info->total);
  return kDriverOk;
}

// Clock frequencies and other properties are not simulated; callers take this as "unknown".
NPUSIM_API int32_t halGetDeviceInfo(uint32_t device, int32_t, int32_t, int64_t* value) {
  if (value == nullptr) return kDriverInvalidValue;
  return known(device) ? kDriverNotSupported : kDriverInvalidDevice;
}
