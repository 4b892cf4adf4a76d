// SPDX-License-Identifier: Apache-2.0
// The data types of the tests, and the values that are sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hccl_test {

enum Reduction { kSum = 0, kProduct = 1, kMaximum = 2, kMinimum = 3 };

struct Type {
  const char* name;
  int code;            // HcclDataType
  size_t bytes;
  double largest_sum;  // up to here all whole numbers are exact
  int largest_power;   // and up to here all powers of two
};

// nullptr if there is no such type.
const Type* findType(const std::string& name);
std::string typeNames();

// Whether a reduction over that many ranks has an exact result, whatever the order of its steps.
bool isExact(const Type& type, int reduction, uint32_t ranks);

// What `rank` sends in the place `index`: 1 or 2, differently for every rank and block.
double sentBy(uint32_t rank, uint64_t index);
double reduced(uint32_t ranks, uint64_t index, int reduction);

// Writes `value`, a whole number of at least 1 that the type can hold, as the type has it.
void encode(double value, const Type& type, uint8_t* out);

}  // namespace hccl_test
