// SPDX-License-Identifier: Apache-2.0
// devlib/libascend_hal.so: lets programs link and import where there is no driver. It never has a
// device, so an image that puts devlib ahead of the driver at run time is found out.
#include "../core/errors.h"
#include "driver_api.h"

using namespace npusim;

NPUSIM_API uint32_t npusim_driver_protocol() { return kDriverProtocol; }

NPUSIM_API int32_t drvGetDevNum(uint32_t* count) {
  if (count != nullptr) *count = 0;
  return kDriverNoDevice;
}

NPUSIM_API int32_t drvGetPlatformInfo(uint32_t*) { return kDriverNoDevice; }
NPUSIM_API int32_t halGetAPIVersion(int32_t*) { return kDriverNoDevice; }
NPUSIM_API int32_t halGetChipInfo(uint32_t, ChipInfo*) { return kDriverNoDevice; }
NPUSIM_API int32_t halMemGetInfo(uint32_t, uint32_t, DriverMemoryInfo*) { return kDriverNoDevice; }
NPUSIM_API int32_t halGetDeviceInfo(uint32_t, int32_t, int32_t, int64_t*) {
  return kDriverNoDevice;
}
