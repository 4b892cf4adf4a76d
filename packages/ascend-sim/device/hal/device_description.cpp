// SPDX-License-Identifier: Apache-2.0
#include "device_description.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "../core/fault.h"
#include "usage.h"

namespace npusim {
namespace {

std::string parentDirectory(const std::string& path) {
  auto slash = path.rfind('/');
  return slash == std::string::npos ? ".." : path.substr(0, slash);
}

std::string descriptionPath() {
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(&describedDevices), &library) == 0) return "";
  std::string lib64_driver = parentDirectory(library.dli_fname);
  return parentDirectory(parentDirectory(lib64_driver)) + "/simulated_devices.conf";
}

uint64_t wholeNumber(const std::string& key, const std::string& text) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != text.npos) {
    throw std::runtime_error(key + "=" + text + " is not a whole number");
  }
  return std::stoull(text);
}

// The places of a chip's texts, each with its size, and of its numbers.
std::map<std::string, std::pair<char*, size_t>> textsOf(ChipFacts& chip) {
  return {{"name", {chip.name, sizeof chip.name}},
          {"shown", {chip.shown, sizeof chip.shown}},
          {"memory", {chip.memory, sizeof chip.memory}},
          {"kernels", {chip.kernels, sizeof chip.kernels}},
          {"lacks", {chip.lacks, sizeof chip.lacks}},
          {"reduces", {chip.reduces, sizeof chip.reduces}}};
}

std::map<std::string, uint32_t*> numbersOf(DeviceDescription& devices) {
  ChipFacts& chip = devices.chip;
  return {{"count", &devices.count},
          {"chips_per_card", &chip.chips_per_card},
          {"processes_per_chip", &chip.processes_per_chip},
          {"cube_cores", &chip.cube_cores},
          {"vector_cores", &chip.vector_cores},
          {"cache_mb", &chip.cache_mb},
          {"architecture", &chip.architecture}};
}

const std::set<std::string> kMayBeEmpty = {"lacks", "reduces"};

void assign(DeviceDescription& devices, const std::string& key, const std::string& value) {
  const auto texts = textsOf(devices.chip);
  const auto numbers = numbersOf(devices);
  if (const auto text = texts.find(key); text != texts.end()) {
    const auto [place, size] = text->second;
    if (value.size() < size && (!value.empty() || kMayBeEmpty.count(key) != 0)) {
      std::memcpy(place, value.c_str(), value.size() + 1);
      return;
    }
  } else if (const auto number = numbers.find(key); number != numbers.end()) {
    *number->second = static_cast<uint32_t>(wholeNumber(key, value));
    if (devices.count > kMostDevices) throw std::runtime_error("count is above 64");
    return;
  } else if (key == "memory_mb") {
    devices.memory_mb = wholeNumber(key, value);
    return;
  }
  throw std::runtime_error("cannot use '" + key + "=" + value + "'");
}

DeviceDescription parse(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot be read");
  DeviceDescription devices;
  std::set<std::string> missing = {"memory_mb"};
  for (const auto& [key, place] : textsOf(devices.chip)) missing.insert(key);
  for (const auto& [key, place] : numbersOf(devices)) missing.insert(key);
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    auto equals = line.find('=');
    if (equals == line.npos) throw std::runtime_error("'" + line + "' is not key=value");
    assign(devices, line.substr(0, equals), line.substr(equals + 1));
    missing.erase(line.substr(0, equals));
  }
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) devices.host = status.st_dev * 0x100000001b3u ^ status.st_ino;
  if (!missing.empty()) throw std::runtime_error("has no line '" + *missing.begin() + "='");
  return devices;
}

}  // namespace

const DeviceDescription& describedDevices() {
  static const DeviceDescription devices = [] {
    // Hidden here, where the runtime and torch_npu's own look at the driver both end.
    if (hiddenDevices()) return DeviceDescription{};
    std::string path = descriptionPath();
    try {
      return parse(path);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "npusim: %s %s: no devices\n", path.c_str(), error.what());
      return DeviceDescription{};
    }
  }();
  return devices;
}

}  // namespace npusim
