// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <dlfcn.h>

#include <fstream>
#include <stdexcept>

#include "../hal/open_driver.h"

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

}  // namespace

Host readHost() {
  const auto driver = openDriver("npu-smi");
  if (!driver) throw std::runtime_error("no driver library");
  uint32_t count = 0;
  if (driver->device_number(&count) != kDriverOk) throw std::runtime_error("no devices");
  Host host{driverVersion(reinterpret_cast<const void*>(driver->device_number)), {}};
  for (uint32_t device = 0; device < count; ++device) {
    ChipInfo info{};
    DriverMemoryInfo hbm{};
    if (driver->chip_info(device, &info) != kDriverOk ||
        driver->memory_info(device, kDriverMemoryHbm, &hbm) != kDriverOk) {
      throw std::runtime_error("a device does not answer");
    }
    host.chips.push_back({info.name, hbm.total >> 20});
  }
  return host;
}

}  // namespace npusim
