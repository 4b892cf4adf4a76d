// SPDX-License-Identifier: Apache-2.0
#include "own_usage.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>

#include "../hal/usage.h"
#include "devices.h"

namespace npusim {
namespace {

// The file stays open: that is how others find it. A forked process makes one of its own.
UsageRecord* newRecord() {
  const int file = static_cast<int>(syscall(SYS_memfd_create, kUsageFile, 1u /* CLOEXEC */));
  if (file < 0 || ftruncate(file, sizeof(UsageRecord)) != 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(UsageRecord), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* record = static_cast<UsageRecord*>(memory);
  record->host = hostIdentity();
  return record;
}

UsageRecord* record() {
  static std::mutex mutex;
  static UsageRecord* own = nullptr;
  static pid_t owner = 0;
  std::lock_guard<std::mutex> lock(mutex);
  if (owner != getpid()) {
    owner = getpid();
    own = newRecord();
  }
  return own;
}

}  // namespace

void noteOpened(int32_t device) {
  if (UsageRecord* own = record()) own->opened[device] = 1;
}

void noteBytes(int32_t device, uint64_t bytes) {
  if (UsageRecord* own = record()) own->bytes[device] = bytes;
}

}  // namespace npusim
