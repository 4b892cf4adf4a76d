// SPDX-License-Identifier: Apache-2.0
// Reserved addresses with physical memory mapped in later (torch_npu's expandable segments).
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>

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

// Where a range of addresses begins, and how many bytes it has; always whole pages.
using Ranges = std::map<uint8_t*, size_t>;

struct Regions {
  std::mutex mutex;  // held while addresses are mapped, so that no other thread takes them
  Ranges reserved, mapped;
};

Regions& regions() {
  static auto* instance = new Regions;
  return *instance;
}

void require(bool condition, const char* what) {
  if (!condition) throw Error(kInvalidParam, what);
}

size_t wholePages(size_t size) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  require(size != 0 && size <= SIZE_MAX / 4, "an impossible size");
  return (size + page - 1) / page * page;
}

// The last range that begins at or before an address, or the end.
Ranges::iterator before(Ranges& ranges, uint8_t* address) {
  const auto next = ranges.upper_bound(address);
  return next == ranges.begin() ? ranges.end() : std::prev(next);
}

Ranges::iterator beginningAt(Ranges& ranges, void* address) {
  const auto found = ranges.find(static_cast<uint8_t*>(address));
  require(found != ranges.end(), "an address that is not reserved or not mapped");
  return found;
}

bool overlaps(Ranges& ranges, uint8_t* address, size_t size) {
  const auto next = ranges.lower_bound(address + size);
  if (next == ranges.begin()) return false;
  const auto& [start, bytes] = *std::prev(next);
  return start + bytes > address;
}

void requireReserved(uint8_t* address, size_t size) {
  const auto found = before(regions().reserved, address);
  require(found != regions().reserved.end(), "an address that is not reserved");
  const auto offset = static_cast<size_t>(address - found->first);
  require(offset <= found->second && size <= found->second - offset,
          "an address range that is not reserved");
}

}  // namespace

size_t npusim::bytesOfMapping(const void* address) {
  std::lock_guard<std::mutex> lock(regions().mutex);
  auto* byte = static_cast<uint8_t*>(const_cast<void*>(address));
  const auto found = before(regions().mapped, byte);
  if (found == regions().mapped.end()) return 0;
  const auto offset = static_cast<size_t>(byte - found->first);
  return offset < found->second ? found->second - offset : 0;
}

NPUSIM_API int aclrtReserveMemAddress(void** address, size_t size, size_t, void*, uint64_t) {
  return guarded([&] {
    given(address) = nullptr;
    size = wholePages(size);
    void* region = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);
    require(region != MAP_FAILED, "the address range cannot be reserved");
    std::lock_guard<std::mutex> lock(regions().mutex);
    regions().reserved[static_cast<uint8_t*>(region)] = size;
    *address = region;
  });
}

NPUSIM_API int aclrtReleaseMemAddress(void* address) {
  return guarded([&] {
    std::lock_guard<std::mutex> lock(regions().mutex);
    const auto found = beginningAt(regions().reserved, address);
    require(!overlaps(regions().mapped, found->first, found->second),
            "memory is still mapped at the address");
    munmap(address, found->second);
    regions().reserved.erase(found);
  });
}

NPUSIM_API int aclrtMallocPhysical(void** handle, size_t size, const void*, uint64_t) {
  return guarded([&] {
    const int32_t device = currentDevice();
    given(handle) = nullptr;
    auto memory = std::make_shared<PhysicalMemory>();
    charge(device, wholePages(size));
    memory->device = device, memory->bytes = wholePages(size);
    // By number: glibc 2.17, the oldest that is supported, has no memfd_create().
    memory->file = static_cast<int>(syscall(SYS_memfd_create, "npusim_memory", 0));
    require(memory->file >= 0, "no file for physical memory");
    require(ftruncate(memory->file, static_cast<off_t>(memory->bytes)) == 0,
            "physical memory is exhausted");
    *handle = publish(std::move(memory));
  });
}

NPUSIM_API int aclrtFreePhysical(void* handle) {
  return guarded([&] { withdrawn<PhysicalMemory>(handle); });
}

NPUSIM_API int aclrtMapMem(void* address, size_t size, size_t offset, void* handle, uint64_t) {
  return guarded([&] {
    const auto memory = opened<PhysicalMemory>(handle);
    auto* first = static_cast<uint8_t*>(address);
    size = wholePages(size);
    require(offset <= memory->bytes && size <= memory->bytes - offset,
            "more than the physical memory has");
    std::lock_guard<std::mutex> lock(regions().mutex);
    requireReserved(first, size);
    require(!overlaps(regions().mapped, first, size), "memory is mapped at the address already");
    void* mapped = mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory->file,
                        static_cast<off_t>(offset));
    require(mapped != MAP_FAILED, "physical memory cannot be mapped");
    regions().mapped[first] = size;
  });
}

NPUSIM_API int aclrtUnmapMem(void* address) {
  return guarded([&] {
    std::lock_guard<std::mutex> lock(regions().mutex);
    const auto found = beginningAt(regions().mapped, address);
    mmap(address, found->second, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    regions().mapped.erase(found);
  });
}
