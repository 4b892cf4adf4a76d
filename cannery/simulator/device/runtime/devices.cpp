// SPDX-License-Identifier: Apache-2.0
#include "devices.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sstream>
#include <vector>

#include "../core/errors.h"
#include "../core/handles.h"
#include "../hal/driver_api.h"

namespace npusim {
namespace {

constexpr int kContextMissing = 107002;

struct Context {
  static constexpr Kind kKind = Kind::Context;
  int32_t device;
};

struct Devices {
  uint32_t count = 0;
  std::string soc;
  uint64_t memory = 0;
};

thread_local Context* current_context = nullptr;

template <class Function>
Function driverFunction(void* driver, const char* name) {
  return reinterpret_cast<Function>(dlsym(driver, name));
}

uint32_t visibleOf(uint32_t present) {
  const char* filter = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (filter == nullptr || *filter == '\0') return present;
  std::istringstream ids(filter);
  std::string id;
  uint32_t visible = 0;
  while (std::getline(ids, id, ',')) {
    bool number = !id.empty() && id.size() < 4 && id.find_first_not_of("0123456789") == id.npos;
    if (!number || static_cast<uint32_t>(std::stoul(id)) >= present) {
      std::fprintf(stderr, "npusim: ASCEND_RT_VISIBLE_DEVICES=%s: no device '%s'\n", filter,
                   id.c_str());
      break;  // as the vendor's runtime: everything after a wrong entry is ignored
    }
    ++visible;
  }
  return visible;
}

Devices discover() {
  Devices devices;
  void* driver = dlopen("libascend_hal.so", RTLD_NOW);
  if (driver == nullptr) return devices;
  auto number = driverFunction<GetDeviceNumber>(driver, "drvGetDevNum");
  auto chip = driverFunction<GetChipInfo>(driver, "halGetChipInfo");
  auto memory = driverFunction<GetMemoryInfo>(driver, "halMemGetInfo");
  uint32_t present = 0;
  ChipInfo chip_info{};
  DriverMemoryInfo memory_info{};
  if (!number || !chip || !memory || number(&present) != kDriverOk) return devices;
  if (chip(0, &chip_info) != kDriverOk) return devices;
  if (memory(0, kDriverMemoryHbm, &memory_info) != kDriverOk) return devices;
  devices.count = visibleOf(present);
  devices.soc = std::string(chip_info.type) + chip_info.name;
  devices.memory = memory_info.total;
  return devices;
}

const Devices& all() {
  static const Devices devices = discover();
  return devices;
}

Context* primaryContext(int32_t device) {
  static std::mutex mutex;
  static auto* contexts = new std::vector<Context*>(all().count, nullptr);
  if (device < 0 || static_cast<uint32_t>(device) >= all().count) {
    throw Error(kInvalidDevice, "no device " + std::to_string(device) + "; this process has " +
                                    std::to_string(all().count));
  }
  std::lock_guard<std::mutex> lock(mutex);
  Context*& context = (*contexts)[device];
  if (context == nullptr) context = publish(std::make_unique<Context>(Context{device}));
  return context;
}

}  // namespace

uint32_t deviceCount() { return all().count; }
const std::string& socName() { return all().soc; }
uint64_t deviceMemory() { return all().memory; }

int32_t currentDevice() {
  if (current_context == nullptr) throw Error(kContextMissing, "no device is set in this thread");
  return current_context->device;
}

}  // namespace npusim

using namespace npusim;

NPUSIM_API int aclrtGetDeviceCount(uint32_t* count) {
  if (count == nullptr) return kInvalidParam;
  *count = deviceCount();
  return kSuccess;
}

NPUSIM_API const char* aclrtGetSocName() {
  return socName().empty() ? nullptr : socName().c_str();
}

NPUSIM_API int aclrtSetDevice(int32_t device) {
  return guarded([&] { current_context = primaryContext(device); });
}

NPUSIM_API int aclrtResetDevice(int32_t device) {
  return guarded([&] {
    if (current_context == primaryContext(device)) current_context = nullptr;
  });
}

NPUSIM_API int aclrtGetDevice(int32_t* device) {
  return guarded([&] { *device = currentDevice(); });
}

NPUSIM_API int aclrtGetCurrentContext(void** context) {
  return guarded([&] {
    currentDevice();
    *context = current_context;
  });
}

NPUSIM_API int aclrtSetCurrentContext(void* context) {
  return guarded([&] { current_context = &opened<Context>(context); });
}

NPUSIM_API int aclrtGetPrimaryCtxState(int32_t device, uint32_t* flags, int32_t* active) {
  return guarded([&] {
    primaryContext(device);
    if (flags != nullptr) *flags = 0;
    *active = current_context != nullptr && current_context->device == device;
  });
}

NPUSIM_API int aclrtDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer) {
  return guarded([&] { *can = primaryContext(device) != primaryContext(peer); });
}

NPUSIM_API int aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t) {
  return guarded([&] { primaryContext(peer); });
}
