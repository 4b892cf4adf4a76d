// SPDX-License-Identifier: Apache-2.0
#include "handles.h"

#include <mutex>
#include <unordered_map>

namespace npusim {
namespace {

struct Entry {
  Kind kind;
  std::shared_ptr<void> object;
};

struct Registry {
  std::mutex mutex;
  std::unordered_map<const void*, Entry> entries;
};

// Never destroyed: torch_npu still releases handles while the process exits.
Registry& registry() {
  static Registry* instance = new Registry;
  return *instance;
}

// The registry's mutex is held.
std::unordered_map<const void*, Entry>::iterator find(const void* handle, Kind kind) {
  if (handle == nullptr) {
    throw Error(kAclnnNullPointer, std::string("a ") + kindName(kind) + " is missing (null)");
  }
  auto& entries = registry().entries;
  auto found = entries.find(handle);
  if (found == entries.end()) {
    throw Error(kAclnnInvalidParam, std::string("not a live handle; expected a ") + kindName(kind));
  }
  if (found->second.kind != kind) {
    throw Error(kAclnnInvalidParam, std::string("got a ") + kindName(found->second.kind) +
                                        "; expected a " + kindName(kind));
  }
  return found;
}

}  // namespace

const char* kindName(Kind kind) {
  static const char* const names[] = {
      "tensor",     "scalar",   "int array", "float array", "bool array", "tensor list",
      "scalar list", "executor", "stream",    "event",       "context",    "data buffer",
      "tensor description", "operator attribute", "communicator", "physical memory", "captured graph",
      "tensor of a channel", "dataset of a channel", "channel", "task group"};
  return names[static_cast<int>(kind)];
}

void registerHandle(const std::shared_ptr<void>& object, Kind kind) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().entries[object.get()] = {kind, object};
}

std::shared_ptr<void> objectOf(const void* handle, Kind kind) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  return find(handle, kind)->second.object;
}

std::shared_ptr<void> unregisterHandle(const void* handle, Kind kind) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const auto found = find(handle, kind);
  std::shared_ptr<void> object = std::move(found->second.object);
  registry().entries.erase(found);
  return object;
}

bool isHandle(const void* handle, Kind kind) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  auto found = registry().entries.find(handle);
  return found != registry().entries.end() && found->second.kind == kind;
}

}  // namespace npusim
