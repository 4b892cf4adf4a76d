// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <dlfcn.h>

#include <fstream>
#include <stdexcept>

#include "../hal/driver_api.h"

namespace npusim {
namespace {

constexpr const char* kMark = "-sim";

std::string parentDirectory(const std::string& path) {
  auto slash = path.rfind('/');
  return slash == std::string::npos ? ".." : path.substr(0, slash);
}

// <driver>/version.info beside the library in <driver>/lib64/driver. Whatever it says, the
// version shown is marked as simulated.
std::string driverVersion(const void* in_library) {
  Dl_info library{};
  std::string version = "unknown";
  if (dladdr(in_library, &library) != 0) {
    std::string tree = parentDirectory(parentDirectory(parentDirectory(library.dli_fname)));
    std::ifstream file(tree + "/version.info");
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("Version=", 0) == 0) version = line.substr(8);
    }
  }
  const bool marked = version.size() >= 4 && version.compare(version.size() - 4, 4, kMark) == 0;
  return marked ? version : version + kMark;
}

template <class Function>
Function driverFunction(void* driver, const char* name) {
  auto* function = reinterpret_cast<Function>(dlsym(driver, name));
  if (function == nullptr) throw std::runtime_error(std::string("no ") + name);
  return function;
}

}  // namespace

Host readHost() {
  void* driver = dlopen("libascend_hal.so", RTLD_NOW);
  if (driver == nullptr) throw std::runtime_error("no driver library");
  auto number = driverFunction<GetDeviceNumber>(driver, "drvGetDevNum");
  auto chip = driverFunction<GetChipInfo>(driver, "halGetChipInfo");
  auto memory = driverFunction<GetMemoryInfo>(driver, "halMemGetInfo");
  uint32_t count = 0;
  if (number(&count) != kDriverOk) throw std::runtime_error("no devices");
  Host host{driverVersion(reinterpret_cast<const void*>(number)), {}};
  for (uint32_t device = 0; device < count; ++device) {
    ChipInfo info{};
    DriverMemoryInfo hbm{};
    if (chip(device, &info) != kDriverOk || memory(device, kDriverMemoryHbm, &hbm) != kDriverOk) {
      throw std::runtime_error("a device does not answer");
    }
    host.chips.push_back({info.name, hbm.total >> 20});
  }
  return host;
}

}  // namespace npusim
