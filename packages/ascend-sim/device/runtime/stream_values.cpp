// SPDX-License-Identifier: Apache-2.0
// Numbers in device memory that streams write and wait for. torch_npu makes its external events of
// them: those that a captured graph waits for, and that the program records after it has replayed it.
#include "../core/errors.h"
#include "memory.h"
#include "streams.h"

using namespace npusim;

namespace {

enum Comparison : uint32_t { kAtLeast = 0, kEqual = 1, kAnd = 2, kNor = 3 };

uint64_t* numberAt(void* address) {
  if (reinterpret_cast<uintptr_t>(address) % sizeof(uint64_t) != 0) {
    throw Error(kInvalidParam, "an address that is no multiple of 8");
  }
  if (!isAccessible(address, sizeof(uint64_t))) {
    throw Error(kInvalidParam, "an address that is not in device memory");
  }
  return static_cast<uint64_t*>(address);
}

bool holds(uint64_t number, uint32_t comparison, uint64_t value) {
  switch (comparison) {
    case kAtLeast: return static_cast<int64_t>(number - value) >= 0;
    case kEqual: return number == value;
    case kAnd: return (number & value) != 0;
    default: return ~(number | value) != 0;
  }
}

}  // namespace

NPUSIM_API int aclrtValueWrite(void* address, uint64_t value, uint32_t flag, Stream stream) {
  return guarded([&] {
    numberAt(address);
    if (flag != 0) throw Error(kInvalidParam, "a flag other than 0");
    submit(stream, [=] { __atomic_store_n(numberAt(address), value, __ATOMIC_RELEASE); });
  });
}

NPUSIM_API int aclrtValueWait(void* address, uint64_t value, uint32_t comparison, Stream stream) {
  return guarded([&] {
    numberAt(address);
    if (comparison > kNor) throw Error(kInvalidParam, "a comparison that there is not");
    submitStep(stream, [=] {
      return holds(__atomic_load_n(numberAt(address), __ATOMIC_ACQUIRE), comparison, value);
    });
  });
}
