// SPDX-License-Identifier: Apache-2.0
// Device memory is host memory. It is counted, so that a full device is reported as one.
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "../core/errors.h"
#include "devices.h"

using namespace npusim;

namespace {

constexpr int kMemoryExhausted = 207001;
constexpr size_t kAlignment = 512;

struct Allocation {
  size_t bytes;
  int32_t device;
};

struct Ledger {
  std::mutex mutex;
  std::unordered_map<void*, Allocation> allocations;
  std::unordered_map<int32_t, size_t> used;
};

Ledger& ledger() {
  static auto* instance = new Ledger;
  return *instance;
}

void* alignedBytes(size_t size) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, size == 0 ? 1 : size) != 0) {
    throw Error(kMemoryExhausted, "the host is out of memory");
  }
  return memory;
}

void allocate(void** out, size_t size) {
  int32_t device = currentDevice();
  std::lock_guard<std::mutex> lock(ledger().mutex);
  size_t& used = ledger().used[device];
  if (used + size > deviceMemory()) {
    throw Error(kMemoryExhausted, "device " + std::to_string(device) + " is out of memory");
  }
  *out = alignedBytes(size);
  used += size;
  ledger().allocations[*out] = {size, device};
}

void release(void* memory) {
  std::lock_guard<std::mutex> lock(ledger().mutex);
  auto found = ledger().allocations.find(memory);
  if (found == ledger().allocations.end()) {
    throw Error(kInvalidParam, "aclrtFree of an address that aclrtMalloc did not give");
  }
  ledger().used[found->second.device] -= found->second.bytes;
  ledger().allocations.erase(found);
  std::free(memory);
}

void copy(void* to, size_t capacity, const void* from, size_t count) {
  if (count == 0) return;
  if (to == nullptr || from == nullptr || count > capacity) {
    throw Error(kInvalidParam, "copy of " + std::to_string(count) + " bytes into " +
                                   std::to_string(capacity) + " or through a null pointer");
  }
  std::memmove(to, from, count);
}

}  // namespace

NPUSIM_API int aclrtMalloc(void** memory, size_t size, int) {
  return guarded([&] { allocate(memory, size); });
}

NPUSIM_API int aclrtMallocAlign32(void** memory, size_t size, int) {
  return guarded([&] { allocate(memory, size); });
}

NPUSIM_API int aclrtFree(void* memory) {
  return guarded([&] { release(memory); });
}

NPUSIM_API int aclrtMallocHost(void** memory, size_t size) {
  return guarded([&] { *memory = alignedBytes(size); });
}

NPUSIM_API int aclrtFreeHost(void* memory) {
  std::free(memory);
  return kSuccess;
}

NPUSIM_API int aclrtMemcpy(void* to, size_t capacity, const void* from, size_t count, int) {
  return guarded([&] { copy(to, capacity, from, count); });
}

NPUSIM_API int aclrtMemcpyAsync(void* to, size_t capacity, const void* from, size_t count, int,
                                Stream) {
  return guarded([&] { copy(to, capacity, from, count); });
}

NPUSIM_API int aclrtMemset(void* memory, size_t capacity, int32_t value, size_t count) {
  if (memory == nullptr || count > capacity) return kInvalidParam;
  std::memset(memory, value, count);
  return kSuccess;
}

NPUSIM_API int aclrtMemsetAsync(void* memory, size_t capacity, int32_t value, size_t count,
                                Stream) {
  return aclrtMemset(memory, capacity, value, count);
}

NPUSIM_API int aclrtGetMemInfo(int, size_t* free_bytes, size_t* total) {
  return guarded([&] {
    std::lock_guard<std::mutex> lock(ledger().mutex);
    *total = deviceMemory();
    *free_bytes = *total - ledger().used[currentDevice()];
  });
}
