// SPDX-License-Identifier: Apache-2.0
#include "fault.h"

#include <sys/stat.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>

namespace npusim {
namespace {

constexpr const char* kKnown =
    "use matmul, devices=0, driver-too-old, dcmi=-8005, dcmi=-8020, processes-left, lost-card=N, "
    "oom-mb=N, nan=N, slow-rank=RANK:MILLISECONDS or link-flap=EVERY:SECONDS";

bool parseNumbers(const std::string& text, int64_t* first, int64_t* second) {
  const char* at = text.c_str();
  char* end = nullptr;
  *first = std::strtoll(at, &end, 10);
  if (end == at) return false;
  if (second == nullptr) return *end == '\0';
  if (*end != ':') return false;
  at = end + 1;
  *second = std::strtoll(at, &end, 10);
  return end != at && *end == '\0' && *first >= 0 && *second >= 0;
}

bool parseFlag(Faults& faults, const std::string& text) {
  if (text == "matmul") return faults.wrong_products = true;
  if (text == "devices=0") return faults.hidden_devices = true;
  if (text == "driver-too-old") return faults.driver_too_old = true;
  if (text == "processes-left") return faults.processes_left = true;
  return false;
}

bool parseItem(Faults& faults, const std::string& text) {
  const auto equals = text.find('=');
  if (parseFlag(faults, text)) return true;
  if (equals == text.npos) return false;
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  if (name == "dcmi") {
    return parseNumbers(value, &faults.dcmi_status, nullptr) &&
           (faults.dcmi_status == -8005 || faults.dcmi_status == -8020);
  }
  if (name == "slow-rank") return parseNumbers(value, &faults.slow_rank, &faults.slow_ms);
  if (name == "link-flap") return parseNumbers(value, &faults.flap_every, &faults.flap_seconds);
  int64_t* number = name == "lost-card" ? &faults.lost_card
                    : name == "oom-mb"  ? &faults.memory_mb
                    : name == "nan"     ? &faults.nan_product
                                        : nullptr;
  return number != nullptr && parseNumbers(value, number, nullptr) && *number >= 0;
}

void parse(Faults& faults, std::istream& items, char separator, const std::string& origin) {
  for (std::string item; std::getline(items, item, separator);) {
    if (item.empty() || item[0] == '#') continue;
    Faults next = faults;
    if (parseItem(next, item)) {
      faults = next;
    } else {
      std::fprintf(stderr, "npusim: %s=%s is ignored: %s\n", origin.c_str(), item.c_str(), kKnown);
    }
  }
}

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// What the file was like when it was read.
struct Stamp {
  int64_t seconds = -1, nanoseconds = 0, size = 0, inode = 0;
  bool operator==(const Stamp& other) const {
    return seconds == other.seconds && nanoseconds == other.nanoseconds && size == other.size &&
           inode == other.inode;
  }
};

Stamp stampOf(const char* path) {
  struct stat status {};
  if (path == nullptr || stat(path, &status) != 0) return {};
  return {status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size,
          static_cast<int64_t>(status.st_ino)};
}

std::shared_ptr<const Faults> readFaults(const char* list, const char* path) {
  auto faults = std::make_shared<Faults>();
  if (list != nullptr) {
    std::istringstream items(list);
    parse(*faults, items, ',', "NPUSIM_FAULT");
  }
  if (path != nullptr) {
    std::ifstream items(path);
    parse(*faults, items, '\n', path);
  }
  return faults;
}

void sleepMilliseconds(int64_t milliseconds) {
  timespec time{milliseconds / 1000, (milliseconds % 1000) * 1000000};
  nanosleep(&time, nullptr);
}

}  // namespace

std::shared_ptr<const Faults> activeFaults() {
  static const char* list = setting("NPUSIM_FAULT");
  static const char* path = setting("NPUSIM_FAULT_FILE");
  if (list == nullptr && path == nullptr) return nullptr;
  static std::mutex mutex;
  static auto* stamp = new Stamp;
  static auto* faults = new std::shared_ptr<const Faults>;
  std::lock_guard<std::mutex> lock(mutex);
  const Stamp current = stampOf(path);
  if (*faults == nullptr || !(current == *stamp)) {
    *stamp = current;
    *faults = readFaults(list, path);
  }
  return *faults;
}

bool faultyMatmul() {
  const auto faults = activeFaults();
  return faults && faults->wrong_products;
}

bool nanMatmul() {
  static std::atomic<int64_t> products{0};  // since the fault began
  const auto faults = activeFaults();
  if (!faults || faults->nan_product < 0) return products = 0;
  return faults->nan_product == ++products;
}

bool hiddenDevices() {
  const auto faults = activeFaults();
  return faults && faults->hidden_devices;
}

bool leftoverProcesses() {
  const auto faults = activeFaults();
  return faults && faults->processes_left;
}

int64_t lostCard() {
  const auto faults = activeFaults();
  return faults ? faults->lost_card : -1;
}

int64_t memoryLimitOfFault() {
  const auto faults = activeFaults();
  return faults && faults->memory_mb >= 0 ? faults->memory_mb << 20 : -1;
}

int64_t dcmiStatus() {
  const auto faults = activeFaults();
  return faults ? faults->dcmi_status : 0;
}

bool driverTooOld() {
  const auto faults = activeFaults();
  return faults && faults->driver_too_old;
}

void disturbCollective(uint32_t rank) {
  static std::atomic<int64_t> collectives{0};
  const auto faults = activeFaults();
  if (!faults) return;
  const int64_t count = ++collectives;
  if (faults->flap_every > 0 && count % faults->flap_every == 0) {
    std::fprintf(stderr, "npusim: the link of rank %u is down for %lld s\n", rank,
                 static_cast<long long>(faults->flap_seconds));
    sleepMilliseconds(faults->flap_seconds * 1000);
  }
  if (faults->slow_rank == static_cast<int64_t>(rank)) sleepMilliseconds(faults->slow_ms);
}

}  // namespace npusim
