// SPDX-License-Identifier: Apache-2.0
// Device memory is host memory. It is counted, so that a full device is reported as one.
#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>

#include "../core/errors.h"
#include "arena.h"
#include "device_faults.h"
#include "devices.h"
#include "memory.h"
#include "own_usage.h"
#include "streams.h"

using namespace npusim;

namespace {

constexpr int kMemoryExhausted = 207001;
enum CopyKind { kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3 };
// What another process uses is looked up only for allocations that could hit the limit.
constexpr size_t kLargeBytes = size_t{64} << 20;

struct Allocation {
  size_t bytes;
  int32_t device;
};

struct Ledger {
  std::mutex mutex;
  Arena arena;
  std::map<const void*, Allocation, std::less<>> allocations;
  std::unordered_map<int32_t, size_t> used;
};

Ledger& ledger() {
  static auto* instance = new Ledger;
  return *instance;
}

[[noreturn]] void throwExhausted(int32_t device) {
  throw Error(kMemoryExhausted, "EL0004: Failed to allocate memory: device " +
                                    std::to_string(device) + " is out of memory");
}

// The callers of these two hold the ledger's mutex.
void requireRoom(int32_t device, size_t size) {
  const size_t used = ledger().used[device];
  if (size > deviceMemory() || used > deviceMemory() - size) throwExhausted(device);
  if (size >= kLargeBytes && size > freeOnDevice(device)) throwExhausted(device);
}

void count(int32_t device, int64_t change) {
  size_t& used = ledger().used[device];
  used += static_cast<size_t>(change);
  noteBytes(physicalDevice(device), used);
}

void allocate(void** out, size_t size) {
  given(out) = nullptr;
  const int32_t device = currentDevice();
  requireCard();
  std::lock_guard<std::mutex> lock(ledger().mutex);
  requireRoom(device, size);
  void* memory = ledger().arena.allocate(size);
  if (memory == nullptr) throw Error(kMemoryExhausted, "the host is out of memory");
  count(device, static_cast<int64_t>(size));
  ledger().allocations[memory] = {size, device};
  *out = memory;
}

void release(void* memory) {
  std::lock_guard<std::mutex> lock(ledger().mutex);
  auto found = ledger().allocations.find(memory);
  if (found == ledger().allocations.end()) {
    throw Error(kInvalidParam, "aclrtFree of an address that aclrtMalloc did not give");
  }
  count(found->second.device, -static_cast<int64_t>(found->second.bytes));
  ledger().allocations.erase(found);
  ledger().arena.release(memory);
}

void requireOnDevice(const void* address, size_t bytes) {
  if (isAccessible(address, bytes)) return;
  throw Error(kInvalidParam, std::to_string(bytes) + " bytes that are not all the device's");
}

void copy(void* to, size_t capacity, const void* from, size_t count, int kind) {
  if (count == 0) return;
  if (to == nullptr || from == nullptr || count > capacity) {
    throw Error(kInvalidParam, "copy of " + std::to_string(count) + " bytes into " +
                                   std::to_string(capacity) + " or through a null pointer");
  }
  if (kind == kHostToDevice || kind == kDeviceToDevice) requireOnDevice(to, count);
  if (kind == kDeviceToHost || kind == kDeviceToDevice) requireOnDevice(from, count);
  requireCard();
  std::memmove(to, from, count);
}

void set(void* memory, size_t capacity, int32_t value, size_t count) {
  if (memory == nullptr || count > capacity) {
    throw Error(kInvalidParam, "a fill of " + std::to_string(count) + " bytes of " +
                                   std::to_string(capacity) + " or through a null pointer");
  }
  if (count == 0) return;
  requireOnDevice(memory, count);
  std::memset(memory, value, count);
}

}  // namespace

namespace npusim {

bool isDeviceMemory(const void* address) { return bytesOfDevice(address) != 0; }

size_t bytesOfDevice(const void* address) {
  std::lock_guard<std::mutex> lock(ledger().mutex);
  Place place{};
  return ledger().arena.locate(address, &place) ? place.bytes : 0;
}

std::optional<int32_t> deviceOf(const void* address) {
  std::lock_guard<std::mutex> lock(ledger().mutex);
  const auto& all = ledger().allocations;
  const auto next = all.upper_bound(address);
  if (next == all.begin()) return std::nullopt;
  const auto& [start, found] = *std::prev(next);
  const bool inside = static_cast<const uint8_t*>(address) <
                      static_cast<const uint8_t*>(start) + found.bytes;
  return inside ? std::optional<int32_t>(found.device) : std::nullopt;
}

bool isAccessible(const void* address, size_t bytes) {
  auto* at = static_cast<const uint8_t*>(address);
  while (bytes != 0) {
    size_t part = 0;
    for (auto* find : {bytesOfDevice, bytesOfMapping, bytesOfImport, bytesOfPinned}) {
      if ((part = find(at)) != 0) break;
    }
    if (part == 0) return false;
    if (part >= bytes) return true;
    at += part, bytes -= part;
  }
  return true;
}

void charge(int32_t device, size_t bytes) {
  std::lock_guard<std::mutex> lock(ledger().mutex);
  requireRoom(device, bytes);
  count(device, static_cast<int64_t>(bytes));
}

void discharge(int32_t device, size_t bytes) {
  std::lock_guard<std::mutex> lock(ledger().mutex);
  count(device, -static_cast<int64_t>(bytes));
}

Place placeOf(const void* address) {
  std::lock_guard<std::mutex> lock(ledger().mutex);
  Place place{};
  if (!ledger().arena.locate(address, &place)) {
    throw Error(kInvalidParam, "an address that aclrtMalloc did not give");
  }
  return place;
}

}  // namespace npusim

NPUSIM_API int aclrtMalloc(void** memory, size_t size, int) {
  return guarded([&] { allocate(memory, size); });
}

NPUSIM_API int aclrtMallocAlign32(void** memory, size_t size, int) {
  return guarded([&] { allocate(memory, size); });
}

NPUSIM_API int aclrtFree(void* memory) {
  return guarded([&] { release(memory); });
}

NPUSIM_API int aclrtMemcpy(void* to, size_t capacity, const void* from, size_t count, int kind) {
  return guarded([&] {
    requireNoFault();
    copy(to, capacity, from, count, kind);
    advanceStreams();
  });
}

NPUSIM_API int aclrtMemcpyAsync(void* to, size_t capacity, const void* from, size_t count, int kind,
                                Stream stream) {
  return guarded([&] { submit(stream, [=] { copy(to, capacity, from, count, kind); }); });
}

NPUSIM_API int aclrtMemset(void* memory, size_t capacity, int32_t value, size_t count) {
  return guarded([&] {
    set(memory, capacity, value, count);
    advanceStreams();
  });
}

NPUSIM_API int aclrtMemsetAsync(void* memory, size_t capacity, int32_t value, size_t count,
                                Stream stream) {
  return guarded([&] { submit(stream, [=] { set(memory, capacity, value, count); }); });
}

NPUSIM_API int aclrtGetMemInfo(int, size_t* free_bytes, size_t* total) {
  return guarded([&] {
    const int32_t device = currentDevice();
    std::lock_guard<std::mutex> lock(ledger().mutex);
    given(total) = deviceMemory();
    const size_t own = *total - std::min(*total, ledger().used[device]);
    given(free_bytes) = std::min<size_t>(own, freeOnDevice(device));
  });
}
