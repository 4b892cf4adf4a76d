// SPDX-License-Identifier: Apache-2.0
// Device memory of one process in another (aclrtIpcMem*). A key says which open file of
// which process holds the memory, and where in it; the memory lives as long as someone maps it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "../core/errors.h"
#include "memory.h"

using namespace npusim;

namespace {

struct Key {
  int process = 0;
  int file = 0;
  uint64_t offset = 0, bytes = 0;
};

struct Mapping {
  uint8_t* base;
  size_t bytes;
};

struct Imports {
  std::mutex mutex;
  std::map<std::string, Mapping> mappings;
};

Imports& imports() {
  static auto* instance = new Imports;
  return *instance;
}

Key parsed(const char* text) {
  uint64_t numbers[4] = {};
  const size_t prefix = std::strlen("npusim");
  bool good = text != nullptr && std::strncmp(text, "npusim", prefix) == 0;
  const char* at = good ? text + prefix : nullptr;
  for (uint64_t& number : numbers) {
    char* end = nullptr;
    good = good && *at == ':';
    if (good) number = std::strtoull(at + 1, &end, 10);
    good = good && end != at + 1;
    at = end;
  }
  if (!good || *at != '\0') throw Error(kInvalidParam, "no key of shared device memory");
  return {static_cast<int>(numbers[0]), static_cast<int>(numbers[1]), numbers[2], numbers[3]};
}

// Whether a path leads to a file of device memory, and not to whatever else a process has open.
bool isArena(const std::string& path) {
  char name[32] = {};
  const ssize_t length = readlink(path.c_str(), name, sizeof name - 1);
  return length > 0 && std::strncmp(name, "/memfd:npusim_memory", 20) == 0;
}

// Memory beyond the end of a file can be mapped, but not used.
bool holds(int file, const Key& key) {
  struct stat status {};
  if (fstat(file, &status) != 0) return false;
  const auto size = static_cast<uint64_t>(status.st_size);
  return key.offset <= size && key.bytes <= size - key.offset;
}

// Maps from the start of a page; returns the address of the key's first byte.
void* import(const std::string& text) {
  const Key key = parsed(text.c_str());
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t before = key.offset % page;
  const std::string path =
      "/proc/" + std::to_string(key.process) + "/fd/" + std::to_string(key.file);
  const int file = isArena(path) ? open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) throw Error(kInvalidParam, "the process that shares the memory has ended");
  void* base = MAP_FAILED;
  if (holds(file, key)) {
    base = mmap(nullptr, key.bytes + before, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                static_cast<off_t>(key.offset - before));
  }
  close(file);
  if (base == MAP_FAILED) throw Error(kInvalidParam, "shared device memory cannot be mapped");
  auto* first = static_cast<uint8_t*>(base);
  imports().mappings[text] = {first, key.bytes + before};
  return first + before;
}

}  // namespace

size_t npusim::bytesOfImport(const void* address) {
  std::lock_guard<std::mutex> lock(imports().mutex);
  auto* byte = static_cast<const uint8_t*>(address);
  for (const auto& each : imports().mappings) {
    const Mapping& mapping = each.second;
    if (byte >= mapping.base && byte < mapping.base + mapping.bytes) {
      return static_cast<size_t>(mapping.base + mapping.bytes - byte);
    }
  }
  return 0;
}

NPUSIM_API int aclrtIpcMemGetExportKey(void* memory, size_t size, char* key, size_t length,
                                       uint64_t) {
  return guarded([&] {
    const Place place = placeOf(memory);
    if (key == nullptr || size == 0 || size > place.bytes) {
      throw Error(kInvalidParam, "memory that is not the device's, or no room for its key");
    }
    char text[96];
    std::snprintf(text, sizeof text, "npusim:%d:%d:%zu:%zu", static_cast<int>(getpid()),
                  place.file, place.offset, size);
    if (std::strlen(text) >= length) throw Error(kInvalidParam, "no room for the key");
    std::strcpy(key, text);
  });
}

NPUSIM_API int aclrtIpcMemImportByKey(void** memory, const char* key, uint64_t) {
  return guarded([&] {
    parsed(key);
    given(memory) = nullptr;
    std::lock_guard<std::mutex> lock(imports().mutex);
    if (imports().mappings.count(key) != 0) {
      throw Error(kInvalidParam, "the memory of this key is imported already");
    }
    *memory = import(key);
  });
}

// For the process that exports there is nothing to close.
NPUSIM_API int aclrtIpcMemClose(const char* key) {
  return guarded([&] {
    const bool own = parsed(key).process == getpid();
    std::lock_guard<std::mutex> lock(imports().mutex);
    auto found = imports().mappings.find(key);
    if (found == imports().mappings.end() && !own) {
      throw Error(kInvalidParam, "the memory of this key is not imported");
    }
    if (found == imports().mappings.end()) return;
    munmap(found->second.base, found->second.bytes);
    imports().mappings.erase(found);
  });
}

NPUSIM_API int aclrtIpcMemSetImportPid(const char* key, int32_t*, size_t) {
  return guarded([&] { parsed(key); });
}
NPUSIM_API int aclrtDeviceGetBareTgid(int32_t* process) {
  return guarded([&] { given(process) = getpid(); });
}
