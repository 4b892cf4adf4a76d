// SPDX-License-Identifier: Apache-2.0
#include "handles.h"

#include <mutex>
#include <unordered_map>

namespace npusim {
namespace {

struct Registry {
  std::mutex mutex;
  std::unordered_map<const void*, Kind> kinds;
};

// Never destroyed: torch_npu still releases handles while the process exits.
Registry& registry() {
  static Registry* instance = new Registry;
  return *instance;
}

void requireKind(const Registry& all, const void* handle, Kind kind) {
  if (handle == nullptr) {
    throw Error(kAclnnNullPointer, std::string("a ") + kindName(kind) + " is missing (null)");
  }
  auto found = all.kinds.find(handle);
  if (found == all.kinds.end()) {
    throw Error(kAclnnInvalidParam, std::string("not a live handle; expected a ") + kindName(kind));
  }
  if (found->second != kind) {
    throw Error(kAclnnInvalidParam, std::string("got a ") + kindName(found->second) +
                                        "; expected a " + kindName(kind));
  }
}

}  // namespace

const char* kindName(Kind kind) {
  static const char* const names[] = {
      "tensor",     "scalar",   "int array", "float array", "bool array", "tensor list",
      "scalar list", "executor", "stream",    "event",       "context",    "data buffer",
      "tensor description", "operator attribute", "communicator", "physical memory", "captured graph", "task group"};
  return names[static_cast<int>(kind)];
}

void registerHandle(const void* handle, Kind kind) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().kinds[handle] = kind;
}

void unregisterHandle(const void* handle, Kind kind) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  requireKind(registry(), handle, kind);
  registry().kinds.erase(handle);
}

void checkHandle(const void* handle, Kind kind) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  requireKind(registry(), handle, kind);
}

bool isHandle(const void* handle, Kind kind) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  auto found = registry().kinds.find(handle);
  return found != registry().kinds.end() && found->second == kind;
}

}  // namespace npusim
