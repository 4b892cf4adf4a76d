// SPDX-License-Identifier: Apache-2.0
// What a program can ask about a device: how many cores, how much memory, which architecture.
#include <string>
#include <utility>

#include "../core/errors.h"
#include "devices.h"

using namespace npusim;

namespace {

constexpr int kFeatureNotSupported = 207000;
constexpr int64_t kCubeCores = 24;
constexpr int64_t kVectorCores = 48;
constexpr int64_t kCacheBytes = int64_t{192} << 20;

int32_t known(uint32_t device) {
  requireDriver(kDriverError);
  if (device >= deviceCount()) throw Error(kInvalidDevice, "no device " + std::to_string(device));
  return static_cast<int32_t>(device);
}

// CANN's numbers of architectures; the first prefix that fits counts.
int64_t architecture() {
  static const std::pair<const char*, int64_t> architectures[] = {
      {"Ascend910B", 2201}, {"Ascend910_93", 2201}, {"Ascend310P", 2002},
      {"Ascend310B", 3002}, {"Ascend910", 1001},
  };
  for (const auto& [prefix, number] : architectures) {
    if (socName().rfind(prefix, 0) == 0) return number;
  }
  throw Error(kFeatureNotSupported, "the architecture of " + socName() + " is not known");
}

int64_t attributeOf(int32_t device, int attribute) {
  const bool of_threads = attribute >= 202 && attribute <= 212;
  if (of_threads) return 0;  // as CANN tells of chips that have no SIMT
  switch (attribute) {
    case 101:  // AI cores: each has one cube core
    case 102: return kCubeCores;
    case 201: return kVectorCores;
    case 301: return static_cast<int64_t>(deviceMemory());
    case 302: return kCacheBytes;
    case 402: return physicalDevice(device);
    case 501: return 0;  // no share of a card
    case 601: return architecture();
    default: break;
  }
  throw Error(kFeatureNotSupported,
              "attribute " + std::to_string(attribute) + " of a device is not simulated");
}

}  // namespace

NPUSIM_API int aclrtGetDeviceInfo(uint32_t device, int attribute, int64_t* value) {
  return guarded([&] { given(value) = attributeOf(known(device), attribute); });
}

// Capabilities: 0 AI cores, 1 vector cores, 2 bytes of L2 cache.
NPUSIM_API int aclGetDeviceCapability(uint32_t device, int capability, int64_t* value) {
  const int64_t values[] = {kCubeCores, kVectorCores, kCacheBytes};
  if (device >= deviceCount() || capability < 0 || capability > 2 || value == nullptr) {
    return kInvalidParam;
  }
  *value = values[capability];
  return kSuccess;
}
