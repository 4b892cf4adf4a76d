// SPDX-License-Identifier: Apache-2.0
// Host memory that the device may read: there is one memory here, so that it is only kept in mind.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>

#include "../core/errors.h"
#include "memory.h"

using namespace npusim;

namespace {

constexpr size_t kAlignment = 4096;
constexpr int kMemoryExhausted = 207001;

enum Location : int32_t { kHost = 0, kDevice = 1, kUnregistered = 2 };

struct PointerAttributes {
  uint32_t id;
  int32_t location;
  uint32_t page_bytes;
  uint32_t reserved[4];
};

// Where memory that is known to the device begins, and how long it is.
struct Pinned {
  std::mutex mutex;
  std::map<const uint8_t*, size_t> allocated, registered;
};

Pinned& pinned() {
  static auto* instance = new Pinned;
  return *instance;
}

// From the address to the end of the range that it is in; 0 where it is in none.
size_t bytesIn(const std::map<const uint8_t*, size_t>& ranges, const void* address) {
  auto* byte = static_cast<const uint8_t*>(address);
  auto next = ranges.upper_bound(byte);
  if (next == ranges.begin()) return 0;
  --next;
  const auto before = static_cast<size_t>(byte - next->first);
  return before < next->second ? next->second - before : 0;
}

bool contains(const std::map<const uint8_t*, size_t>& ranges, const void* address) {
  return bytesIn(ranges, address) != 0;
}

void allocateHost(void** memory, size_t size) {
  if (memory == nullptr) throw Error(kInvalidParam, "a null pointer");
  if (posix_memalign(memory, kAlignment, size == 0 ? 1 : size) != 0) {
    throw Error(kMemoryExhausted, "the host is out of memory");
  }
  std::lock_guard<std::mutex> lock(pinned().mutex);
  pinned().allocated[static_cast<uint8_t*>(*memory)] = size == 0 ? 1 : size;
}

void registerHost(void* memory, uint64_t size) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  if (memory == nullptr || size == 0 || size > INTPTR_MAX - address) {
    throw Error(kInvalidParam, "no memory to register");
  }
  std::lock_guard<std::mutex> lock(pinned().mutex);
  if (contains(pinned().registered, memory)) {
    throw Error(kInvalidParam, "the memory is registered already");
  }
  pinned().registered[static_cast<uint8_t*>(memory)] = size;
}

}  // namespace

size_t npusim::bytesOfPinned(const void* address) {
  std::lock_guard<std::mutex> lock(pinned().mutex);
  return std::max(bytesIn(pinned().allocated, address), bytesIn(pinned().registered, address));
}

NPUSIM_API int aclrtMallocHost(void** memory, size_t size) {
  return guarded([&] { allocateHost(memory, size); });
}
NPUSIM_API int aclrtMallocHostWithCfg(void** memory, uint64_t size, void*) {
  return guarded([&] { allocateHost(memory, size); });
}
NPUSIM_API int aclrtFreeHost(void* memory) {
  return guarded([&] {
    std::lock_guard<std::mutex> lock(pinned().mutex);
    if (pinned().allocated.erase(static_cast<uint8_t*>(memory)) == 0) {
      throw Error(kInvalidParam, "aclrtFreeHost of an address that aclrtMallocHost did not give");
    }
    std::free(memory);
  });
}

NPUSIM_API int aclrtHostRegister(void* memory, uint64_t size, int, void** device_address) {
  return guarded([&] {
    registerHost(memory, size);
    if (device_address != nullptr) *device_address = memory;
  });
}
NPUSIM_API int aclrtHostRegisterV2(void* memory, uint64_t size, uint32_t) {
  return guarded([&] { registerHost(memory, size); });
}
NPUSIM_API int aclrtHostGetDevicePointer(void* memory, void** device_address, uint32_t) {
  return guarded([&] {
    std::lock_guard<std::mutex> lock(pinned().mutex);
    if (!contains(pinned().registered, memory) && !contains(pinned().allocated, memory)) {
      throw Error(kInvalidParam, "host memory that is not registered");
    }
    given(device_address) = memory;
  });
}
NPUSIM_API int aclrtHostUnregister(void* memory) {
  return guarded([&] {
    std::lock_guard<std::mutex> lock(pinned().mutex);
    if (pinned().registered.erase(static_cast<uint8_t*>(memory)) == 0) {
      throw Error(kInvalidParam, "host memory that is not registered");
    }
  });
}

NPUSIM_API int aclrtPointerGetAttributes(const void* address, PointerAttributes* attributes) {
  return guarded([&] {
    if (attributes == nullptr) throw Error(kInvalidParam, "a null pointer");
    *attributes = {};
    attributes->page_bytes = kAlignment;
    attributes->location = kUnregistered;
    if (isDeviceMemory(address) || bytesOfMapping(address) != 0) attributes->location = kDevice;
    std::lock_guard<std::mutex> lock(pinned().mutex);
    if (contains(pinned().allocated, address) || contains(pinned().registered, address)) {
      attributes->location = kHost;
    }
  });
}
