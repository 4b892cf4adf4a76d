// SPDX-License-Identifier: Apache-2.0
// What a program can ask about a device: how many cores, how much memory, which architecture.
#include <string>

#include "../core/errors.h"
#include "devices.h"

using namespace npusim;

namespace {

constexpr int kFeatureNotSupported = 207000;

int32_t known(uint32_t device) {
  requireDriver(kDriverError);
  if (device >= deviceCount()) throw Error(kInvalidDevice, "no device " + std::to_string(device));
  return static_cast<int32_t>(device);
}

int64_t cacheBytes() { return int64_t{chip().cache_mb} << 20; }

int64_t attributeOf(int32_t device, int attribute) {
  const bool of_threads = attribute >= 202 && attribute <= 212;
  if (of_threads) return 0;  // as CANN tells of chips that have no SIMT
  switch (attribute) {
    case 101:  // AI cores: each has one cube core
    case 102: return chip().cube_cores;
    case 201: return chip().vector_cores;
    case 301: return static_cast<int64_t>(deviceMemory());
    case 302: return cacheBytes();
    case 402: return physicalDevice(device);
    case 501: return 0;  // no share of a card
    case 601: return chip().architecture;
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
  const int64_t values[] = {chip().cube_cores, chip().vector_cores, cacheBytes()};
  if (device >= deviceCount() || capability < 0 || capability > 2 || value == nullptr) {
    return kInvalidParam;
  }
  *value = values[capability];
  return kSuccess;
}
