// SPDX-License-Identifier: Apache-2.0
#include "call_memory.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "../core/errors.h"
#include "../runtime/memory.h"

namespace npusim {
namespace {

struct Scratch {
  std::mutex mutex;
  Arena arena;
};

// Never destroyed: operators may still run while the process exits.
Scratch& scratch() {
  static auto* instance = new Scratch;
  return *instance;
}

// Writes what differs from `before`, and nothing else: another tensor may lie between the elements.
void writeChanges(uint8_t* to, const std::vector<uint8_t>& before, const uint8_t* after) {
  constexpr size_t kBlock = 256;
  for (size_t start = 0; start < before.size(); start += kBlock) {
    const size_t end = std::min(start + kBlock, before.size());
    if (std::memcmp(&before[start], after + start, end - start) == 0) continue;
    for (size_t i = start; i < end; ++i) {
      if (before[i] != after[i]) to[i] = after[i];
    }
  }
}

}  // namespace

CallMemory::~CallMemory() {
  std::lock_guard<std::mutex> lock(scratch().mutex);
  for (const Copy& copy : copies_) scratch().arena.release(copy.shared);
}

Place CallMemory::place(uint8_t* first, size_t bytes) {
  Place place{};
  if (isDeviceMemory(first)) place = placeOf(first);
  if (place.bytes < bytes) place = copied(first, bytes);
  files_.insert(place.file);
  return place;
}

Place CallMemory::copied(uint8_t* first, size_t bytes) {
  Place place{};
  std::vector<uint8_t> before(first, first + bytes);
  std::lock_guard<std::mutex> lock(scratch().mutex);
  auto* shared = static_cast<uint8_t*>(scratch().arena.allocate(bytes));
  if (shared == nullptr || !scratch().arena.locate(shared, &place)) throw std::bad_alloc();
  std::memcpy(shared, first, bytes);
  copies_.push_back({first, std::move(before), shared});
  return place;
}

void CallMemory::copyBack() const {
  for (const Copy& copy : copies_) writeChanges(copy.original, copy.before, copy.shared);
}

}  // namespace npusim
