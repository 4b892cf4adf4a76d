// SPDX-License-Identifier: Apache-2.0
// Data types and reductions of HCCL.
#pragma once

#include "../aclnn/tensor.h"
#include "communicator.h"

namespace npusim {

DataType elementTypeOf(int hccl_type);          // throws Error
size_t bytesOf(uint64_t count, int hccl_type);  // throws Error
// Whether a list, as "Broadcast,Reduce", has the name.
bool isNamed(const char* list, const char* name);
void requireBuffer(const void* buffer, size_t bytes);  // throws Error if it is not the device's

// Reduces `count` elements of every rank and stores `kept` of them, from `first` on.
struct Range {
  uint64_t first, kept;
};
void reduceInto(Communicator& group, const Call& call, const void* send, void* receive,
                uint64_t count, Range range);

}  // namespace npusim
