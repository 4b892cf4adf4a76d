// SPDX-License-Identifier: Apache-2.0
#include "arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace npusim {
namespace {

constexpr size_t kSegmentBytes = size_t{1} << 30;
constexpr int kPunchHole = 0x02, kKeepSize = 0x01;  // of fallocate()

size_t roundedUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// What begins on a page can be mapped by another process.
size_t unitFor(size_t bytes) {
  static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes >= page ? page : Arena::kAlignment;
}

}  // namespace

struct Arena::Segment {
  int file = -1;
  uint8_t* base = nullptr;
  size_t bytes = 0;
  std::map<size_t, size_t> free;  // offset and size of each gap
  std::map<size_t, size_t> used;

  ~Segment() {
    if (base != nullptr) munmap(base, bytes);
    if (file >= 0) close(file);
  }

  bool open(size_t wanted) {
    // By number: glibc 2.17, the oldest that is supported, has no memfd_create().
    file = static_cast<int>(syscall(SYS_memfd_create, "npusim_memory", 1u /* CLOEXEC */));
    if (file < 0 || ftruncate(file, static_cast<off_t>(wanted)) != 0) return false;
    void* mapped = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file,
                        0);
    if (mapped == MAP_FAILED) return false;
    base = static_cast<uint8_t*>(mapped);
    bytes = wanted;
    free[0] = wanted;
    return true;
  }

  void* take(size_t wanted, size_t unit) {
    for (auto gap = free.begin(); gap != free.end(); ++gap) {
      const auto [offset, size] = *gap;
      const size_t start = roundedUp(offset, unit);
      if (start + wanted > offset + size) continue;
      free.erase(gap);
      if (start > offset) free[offset] = start - offset;
      if (start + wanted < offset + size) free[start + wanted] = offset + size - start - wanted;
      used[start] = wanted;
      return base + start;
    }
    return nullptr;
  }

  void giveBack(size_t offset) {
    const size_t size = used.at(offset);
    used.erase(offset);
    if (size >= unitFor(size) && unitFor(size) > kAlignment) {
      fallocate(file, kPunchHole | kKeepSize, static_cast<off_t>(offset),
                static_cast<off_t>(size));
    }
    auto next = free.emplace(offset, size).first;
    auto after = std::next(next);
    if (after != free.end() && next->first + next->second == after->first) {
      next->second += after->second;
      free.erase(after);
    }
    if (next == free.begin()) return;
    auto before = std::prev(next);
    if (before->first + before->second != next->first) return;
    before->second += next->second;
    free.erase(next);
  }
};

Arena::Segment* Arena::segmentOf(const void* address) const {
  auto* byte = static_cast<const uint8_t*>(address);
  for (const auto& segment : segments_) {
    if (byte >= segment->base && byte < segment->base + segment->bytes) return segment.get();
  }
  return nullptr;
}

Arena::Segment* Arena::grow(size_t bytes) {
  auto segment = std::make_shared<Segment>();
  if (!segment->open(std::max(kSegmentBytes, roundedUp(bytes, size_t{1} << 20)))) return nullptr;
  segments_.push_back(std::move(segment));
  return segments_.back().get();
}

void* Arena::allocate(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const size_t unit = unitFor(bytes), wanted = roundedUp(std::max<size_t>(bytes, 1), unit);
  for (const auto& segment : segments_) {
    if (void* memory = segment->take(wanted, unit)) return memory;
  }
  Segment* segment = grow(wanted);
  return segment != nullptr ? segment->take(wanted, unit) : nullptr;
}

void Arena::release(void* memory) {
  Segment* segment = segmentOf(memory);
  segment->giveBack(static_cast<size_t>(static_cast<uint8_t*>(memory) - segment->base));
}

bool Arena::locate(const void* address, Place* place) const {
  const Segment* segment = segmentOf(address);
  if (segment == nullptr) return false;
  const auto at = static_cast<size_t>(static_cast<const uint8_t*>(address) - segment->base);
  auto next = segment->used.upper_bound(at);
  if (next == segment->used.begin()) return false;
  const auto& [offset, bytes] = *std::prev(next);
  if (at >= offset + bytes) return false;
  *place = {segment->file, at, offset + bytes - at};
  return true;
}

}  // namespace npusim
