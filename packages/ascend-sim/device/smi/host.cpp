// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "../core/fault.h"
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

// Where such servers have their cards; ids of larger hosts go on from there.
std::string busOf(const Host& host, uint32_t id) {
  static const unsigned a2[] = {0xC1, 0xC2, 0x81, 0x82, 0x01, 0x02, 0x41, 0x42};
  unsigned bus = id < 8 ? a2[id] : 0x10 + id;
  if (host.layout() == Layout::AtlasA3) bus = (0x9D - id / 2 * 4 + id % 2 * 2) & 0xFF;
  char text[32];
  std::snprintf(text, sizeof text, "0000:%02X:00.0", bus);
  return text;
}

std::vector<ProcessUsage> usersOfDevice(const Driver& driver, uint32_t id) {
  std::vector<ProcessUsage> users(64);
  const uint32_t count = driver.users(id, users.data(), 64);
  users.resize(std::min<size_t>(count, users.size()));
  return users;
}

}  // namespace

// By CANN's numbers of architectures.
Layout Host::layout() const {
  if (chip.architecture == 2002) return Layout::Inference;
  if (chip.architecture == 3510) return Layout::Ascend950;
  return chip.chips_per_card == 2 ? Layout::AtlasA3 : Layout::Atlas;
}

bool Host::hasHbm() const { return std::string(chip.memory) == "HBM"; }

std::vector<uint32_t> Host::cards() const {
  std::vector<uint32_t> ids;
  for (const Chip& chip : chips) {
    if (ids.empty() || ids.back() != chip.npu) ids.push_back(chip.npu);
  }
  return ids;
}

Host readHost() {
  const auto driver = openDriver("npu-smi");
  if (!driver) throw std::runtime_error("no driver library");
  uint32_t count = 0;
  if (driver->device_number(&count) != kDriverOk) throw std::runtime_error("no devices");
  Host host{driverVersion(reinterpret_cast<const void*>(driver->device_number)), 
            *driver->chip_facts(), 0, {}};
  for (uint32_t id = 0; id < count; ++id) {
    DriverMemoryInfo memory{};
    if (driver->memory_info(id, kDriverMemoryHbm, &memory) != kDriverOk) {
      throw std::runtime_error("a device does not answer");
    }
    host.memory_mb = memory.total >> 20;
    if (lostCard() == static_cast<int64_t>(id)) continue;
    const uint32_t per_card = host.chip.chips_per_card;
    host.chips.push_back({id, id / per_card, id % per_card, busOf(host, id),
                          (memory.total - memory.free) >> 20, usersOfDevice(*driver, id)});
  }
  return host;
}

}  // namespace npusim
