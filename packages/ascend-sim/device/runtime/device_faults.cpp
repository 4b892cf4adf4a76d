// SPDX-License-Identifier: Apache-2.0
#include "device_faults.h"

#include <atomic>
#include <map>
#include <mutex>

#include "../core/errors.h"
#include "devices.h"

namespace npusim {
namespace {

struct Faults {
  std::mutex mutex;
  std::map<int32_t, std::string> of;  // the first of each device
};

Faults& faults() {
  static auto* instance = new Faults;
  return *instance;
}

std::atomic<bool> any{false};  // spares every operator the mutex

std::string current() {
  if (!any) return "";
  const int32_t device = currentDevice();
  std::lock_guard<std::mutex> lock(faults().mutex);
  const auto found = faults().of.find(device);
  return found == faults().of.end() ? "" : found->second;
}

}  // namespace

void launch(const std::string& name, const std::function<void()>& work) {
  if (!current().empty()) return;
  try {
    work();
  } catch (const DeviceFault& fault) {
    const int32_t device = currentDevice();
    std::lock_guard<std::mutex> lock(faults().mutex);
    faults().of.emplace(device, name + ": " + fault.what());
    any = true;
  }
}

void requireNoFault() {
  requireOwnProcess();
  const std::string fault = current();
  if (!fault.empty()) throw DeviceFault(fault);
}

void forgetFault(int32_t device) {
  std::lock_guard<std::mutex> lock(faults().mutex);
  faults().of.erase(device);
  any = !faults().of.empty();
}

}  // namespace npusim
