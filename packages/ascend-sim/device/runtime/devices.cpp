// SPDX-License-Identifier: Apache-2.0
#include "devices.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sstream>
#include <vector>

#include "../core/errors.h"
#include "../core/fault.h"
#include "../core/handles.h"
#include "../hal/open_driver.h"
#include "device_faults.h"
#include "own_usage.h"

namespace npusim {
namespace {

constexpr int kContextMissing = 107002;
constexpr int kLostHeartbeat = 507010;
constexpr const char kNotice[] =
    "cannery: simulated Ascend device; results say nothing about an NPU\n";

constexpr const char kLenientNotice[] =
    "cannery: NPUSIM_LENIENT=1: operators take data types that an NPU refuses\n";

struct Context {
  static constexpr Kind kKind = Kind::Context;
  int32_t device;
};

struct Devices {
  std::vector<int32_t> physical;  // ids on the host of what this process sees
  std::string soc;
  ChipFacts chip{};
  uint64_t memory = 0;
  uint64_t host = 0;
  GetMemoryInfo memory_info = nullptr;
  std::string refusal;  // why the driver that there is is not used; empty where it is
};

thread_local Context* current_context = nullptr;
// Of a process that was forked from one that used a device: its memory, streams and queues belong
// to that one, and no thread serves them here.
std::atomic<bool> forked{false};
std::atomic<int32_t> default_device{-1};  // or none

// As torch_npu (npu/__init__.py: _parse_visible_devices, _device_count_ascend_hal) describes the
// vendor's runtime: a wrong entry ends the list, and ids that do not ascend mean no device.
std::vector<int32_t> visibleOf(uint32_t present) {
  const char* filter = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  std::vector<int32_t> visible;
  if (filter == nullptr) {
    for (uint32_t id = 0; id < present; ++id) visible.push_back(static_cast<int32_t>(id));
    return visible;
  }
  const auto refused = [filter](const std::string& why) {
    std::fprintf(stderr, "npusim: ASCEND_RT_VISIBLE_DEVICES=%s: %s\n", filter, why.c_str());
  };
  const std::string text = filter;
  std::istringstream ids(text.substr(0, text.find_first_not_of("0123456789,")));
  std::string id;
  while (std::getline(ids, id, ',') && !id.empty() && id.size() < 4) {
    if (!visible.empty() && std::stoi(id) <= visible.back()) {
      refused("the ids do not ascend, so there is no device");
      return {};
    }
    if (static_cast<uint32_t>(std::stoul(id)) >= present) {
      refused("no device '" + id + "'");
      return visible;
    }
    visible.push_back(std::stoi(id));
  }
  if (visible.empty()) refused("no device");
  return visible;
}

Devices describedBy(const Driver& driver) {
  Devices devices;
  uint32_t present = 0;
  DriverMemoryInfo memory{};
  if (driver.device_number(&present) != kDriverOk) return devices;
  if (driver.memory_info(0, kDriverMemoryHbm, &memory) != kDriverOk) return devices;
  std::fputs(kNotice, stderr);
  if (isLenient()) std::fputs(kLenientNotice, stderr);
  devices.physical = visibleOf(present);
  devices.host = driver.host_identity();
  devices.memory_info = driver.memory_info;
  devices.chip = *driver.chip_facts();
  devices.soc = std::string("Ascend") + devices.chip.name;
  devices.memory = memory.total;
  return devices;
}

// Why a fault keeps the driver from being used. All end alike for a program: no device, and error
// 507899.
std::string refusalByFault() {
  const int64_t status = dcmiStatus();
  if (driverTooOld()) return "EL0003: the driver is older than this CANN needs: drvRetCode=87";
  if (status == 0) return "";
  return "EL0003: the device cannot be opened (driver status " + std::to_string(status) +
         "): drvRetCode=87";
}

Devices discover() {
  Devices devices;
  try {
    const auto driver = openDriver("CANN");
    const std::string refusal = refusalByFault();
    if (driver && refusal.empty()) devices = describedBy(*driver);
    if (driver && !refusal.empty()) {
      std::fprintf(stderr, "npusim: NPUSIM_FAULT: %s\n", refusal.c_str());
      devices.refusal = refusal;
    }
  } catch (const ForeignDriver& error) {
    std::fprintf(stderr, "cannery: %s\n", error.what());
    devices.refusal = error.what();
  }
  return devices;
}

const Devices& all() {
  static const Devices devices = discover();
  return devices;
}

Context* primaryContext(int32_t device) {
  static std::mutex mutex;
  static std::once_flag once;
  requireOwnProcess();
  requireDriver(kDriverError);
  static auto* contexts = new std::vector<Context*>(deviceCount(), nullptr);
  if (device < 0 || static_cast<uint32_t>(device) >= deviceCount()) {
    throw Error(kInvalidDevice, "no device " + std::to_string(device) + "; this process has " +
                                    std::to_string(deviceCount()));
  }
  std::lock_guard<std::mutex> lock(mutex);
  Context*& context = (*contexts)[device];
  if (context == nullptr) {
    context = publish(std::make_shared<Context>(Context{device}));
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { forked = true; }); });
    noteOpened(physicalDevice(device));
  }
  return context;
}

}  // namespace

void requireDriver(int code) {
  if (!all().refusal.empty()) throw Error(code, all().refusal);
}

void requireOwnProcess() {
  if (!forked) return;
  throw Error(kDriverError,
              "EL0003: the device cannot be used in a process that was forked from one that has "
              "used it (re-initialisation): start processes with the method 'spawn'");
}

uint32_t deviceCount() { return static_cast<uint32_t>(all().physical.size()); }
int32_t physicalDevice(int32_t device) { return all().physical.at(static_cast<size_t>(device)); }
uint64_t hostIdentity() { return all().host; }

uint64_t freeOnDevice(int32_t device) {
  DriverMemoryInfo info{};
  const auto id = static_cast<uint32_t>(physicalDevice(device));
  return all().memory_info(id, kDriverMemoryHbm, &info) == kDriverOk ? info.free : 0;
}

void requireCard() {
  requireOwnProcess();
  const int64_t lost = lostCard();
  if (lost < 0 || current_context == nullptr) return;
  if (physicalDevice(current_context->device) != lost) return;
  throw Error(kLostHeartbeat, "the heartbeat of device " + std::to_string(lost) + " is lost");
}

bool isLenient() {
  const char* value = std::getenv("NPUSIM_LENIENT");
  return value != nullptr && std::string(value) == "1";
}

const ChipFacts& chip() { return all().chip; }
bool isFirstGeneration() { return chip().architecture == 1001 || chip().architecture == 2002; }
const std::string& socName() { return all().soc; }

uint64_t deviceMemory() {
  const int64_t limit = memoryLimitOfFault();
  return limit < 0 ? all().memory : std::min(all().memory, static_cast<uint64_t>(limit));
}

void setDefaultDevice(int32_t device) { default_device = device; }

int32_t currentDevice() {
  requireOwnProcess();
  if (current_context == nullptr && default_device >= 0) {
    current_context = primaryContext(default_device);
  }
  if (current_context == nullptr) throw Error(kContextMissing, "no device is set in this thread");
  return current_context->device;
}

}  // namespace npusim

using namespace npusim;

NPUSIM_API int aclrtGetDeviceCount(uint32_t* count) {
  if (count == nullptr) return kInvalidParam;
  *count = deviceCount();
  return guarded([] { requireDriver(kDriverError); });
}

NPUSIM_API const char* aclrtGetSocName() {
  return socName().empty() ? nullptr : socName().c_str();
}

NPUSIM_API int aclrtSetDevice(int32_t device) {
  return guarded([&] {
    current_context = primaryContext(device);
    requireCard();
  });
}

NPUSIM_API int aclrtResetDevice(int32_t device) {
  return guarded([&] {
    if (current_context == primaryContext(device)) current_context = nullptr;
    forgetFault(device);
  });
}

NPUSIM_API int aclrtGetDevice(int32_t* device) {
  return guarded([&] { given(device) = currentDevice(); });
}

NPUSIM_API int aclrtGetCurrentContext(void** context) {
  return guarded([&] {
    currentDevice();
    given(context) = current_context;
  });
}

NPUSIM_API int aclrtSetCurrentContext(void* context) {
  return guarded([&] { current_context = opened<Context>(context).get(); });
}

NPUSIM_API int aclrtGetPrimaryCtxState(int32_t device, uint32_t* flags, int32_t* active) {
  return guarded([&] {
    primaryContext(device);
    if (flags != nullptr) *flags = 0;
    given(active) = current_context != nullptr && current_context->device == device;
  });
}

NPUSIM_API int aclrtDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer) {
  return guarded([&] { given(can) = primaryContext(device) != primaryContext(peer); });
}

NPUSIM_API int aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t) {
  return guarded([&] { primaryContext(peer); });
}
