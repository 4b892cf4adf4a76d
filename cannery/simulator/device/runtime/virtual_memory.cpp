// SPDX-License-Identifier: Apache-2.0
// Reserved addresses with physical memory mapped in later (torch_npu's expandable segments).
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "../core/handles.h"
#include "devices.h"
#include "memory.h"

using namespace npusim;

namespace {

struct PhysicalMemory {
  static constexpr Kind kKind = Kind::PhysicalMemory;
  int file = -1;
  int32_t device = 0;
  size_t bytes = 0;
  ~PhysicalMemory() {
    if (file >= 0) close(file);
    discharge(device, bytes);
  }
};

struct Regions {
  std::mutex mutex;
  std::unordered_map<void*, size_t> reserved;
  std::unordered_map<void*, size_t> mapped;
};

Regions& regions() {
  static auto* instance = new Regions;
  return *instance;
}

void require(bool condition, const char* what) {
  if (!condition) throw Error(kInvalidParam, what);
}

size_t taken(std::unordered_map<void*, size_t>& from, void* address) {
  std::lock_guard<std::mutex> lock(regions().mutex);
  auto found = from.find(address);
  require(found != from.end(), "an address that is not reserved or not mapped");
  size_t size = found->second;
  from.erase(found);
  return size;
}

void remember(std::unordered_map<void*, size_t>& in, void* address, size_t size) {
  std::lock_guard<std::mutex> lock(regions().mutex);
  in[address] = size;
}

}  // namespace

bool npusim::isMappedMemory(const void* address) {
  std::lock_guard<std::mutex> lock(regions().mutex);
  auto* byte = static_cast<const uint8_t*>(address);
  for (const auto& [start, bytes] : regions().mapped) {
    auto* first = static_cast<const uint8_t*>(start);
    if (byte >= first && byte < first + bytes) return true;
  }
  return false;
}

NPUSIM_API int aclrtReserveMemAddress(void** address, size_t size, size_t, void*, uint64_t) {
  return guarded([&] {
    void* region = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);
    require(region != MAP_FAILED, "the address range cannot be reserved");
    remember(regions().reserved, region, size);
    *address = region;
  });
}

NPUSIM_API int aclrtReleaseMemAddress(void* address) {
  return guarded([&] { munmap(address, taken(regions().reserved, address)); });
}

NPUSIM_API int aclrtMallocPhysical(void** handle, size_t size, const void*, uint64_t) {
  return guarded([&] {
    const int32_t device = currentDevice();
    charge(device, size);
    auto memory = std::make_unique<PhysicalMemory>();
    memory->device = device, memory->bytes = size;
    // By number: glibc 2.17, the oldest that is supported, has no memfd_create().
    memory->file = static_cast<int>(syscall(SYS_memfd_create, "npusim_memory", 0));
    require(memory->file >= 0, "no file for physical memory");
    require(ftruncate(memory->file, static_cast<off_t>(size)) == 0,
            "physical memory is exhausted");
    *handle = publish(std::move(memory));
  });
}

NPUSIM_API int aclrtFreePhysical(void* handle) {
  return guarded([&] { withdrawn<PhysicalMemory>(handle); });
}

NPUSIM_API int aclrtMapMem(void* address, size_t size, size_t offset, void* handle, uint64_t) {
  return guarded([&] {
    int file = opened<PhysicalMemory>(handle).file;
    void* mapped = mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                        static_cast<off_t>(offset));
    require(mapped != MAP_FAILED, "physical memory cannot be mapped");
    remember(regions().mapped, address, size);
  });
}

NPUSIM_API int aclrtUnmapMem(void* address) {
  return guarded([&] {
    size_t size = taken(regions().mapped, address);
    mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  });
}
