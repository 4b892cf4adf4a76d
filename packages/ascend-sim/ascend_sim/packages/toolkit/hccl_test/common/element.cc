// SPDX-License-Identifier: Apache-2.0
#include "element.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hccl_test {
namespace {

const double kExactDouble = 9007199254740992.0;  // 2^53

const Type kTypes[] = {
    {"int8", 0, 1, 127, 6},
    {"int16", 1, 2, 32767, 14},
    {"int32", 2, 4, 2147483647, 30},
    {"fp16", 3, 2, 2048, 15},
    {"fp32", 4, 4, 16777216, 127},
    {"int64", 5, 8, kExactDouble, 62},
    {"uint64", 6, 8, kExactDouble, 63},
    {"uint8", 7, 1, 255, 7},
    {"uint16", 8, 2, 65535, 15},
    {"uint32", 9, 4, 4294967295.0, 31},
    {"fp64", 10, 8, kExactDouble, 1023},
    {"bfp16", 11, 2, 256, 127},
};

template <class T>
void put(T value, uint8_t* out) {
  std::memcpy(out, &value, sizeof value);
}

uint32_t bitsOf(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The exponent's bias is 15 in place of 127, and 10 bits of the fraction are kept of 23.
uint16_t asHalf(float value) { return static_cast<uint16_t>((bitsOf(value) - (112u << 23)) >> 13); }

}  // namespace

const Type* findType(const std::string& name) {
  for (const Type& type : kTypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

std::string typeNames() {
  std::string names;
  for (const Type& type : kTypes) names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

bool isExact(const Type& type, int reduction, uint32_t ranks) {
  if (reduction == kSum) return 2.0 * ranks <= type.largest_sum;
  return reduction != kProduct || ranks <= static_cast<uint32_t>(type.largest_power);
}

double sentBy(uint32_t rank, uint64_t index) {
  uint64_t mixed = (index + 1) * 0x9e3779b97f4a7c15u + rank * 0xc2b2ae3d27d4eb4fu;
  mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
  return 1.0 + static_cast<double>(mixed >> 63);
}

double reduced(uint32_t ranks, uint64_t index, int reduction) {
  double result = sentBy(0, index);
  for (uint32_t rank = 1; rank < ranks; ++rank) {
    const double value = sentBy(rank, index);
    if (reduction == kSum) result += value;
    if (reduction == kProduct) result *= value;
    if (reduction == kMaximum) result = std::max(result, value);
    if (reduction == kMinimum) result = std::min(result, value);
  }
  return result;
}

void encode(double value, const Type& type, uint8_t* out) {
  const std::string name = type.name;
  if (name == "fp64") return put(value, out);
  if (name == "fp32") return put(static_cast<float>(value), out);
  if (name == "fp16") return put(asHalf(static_cast<float>(value)), out);
  if (name == "bfp16") {
    return put(static_cast<uint16_t>(bitsOf(static_cast<float>(value)) >> 16), out);
  }
  // A positive whole number has the same low bytes in every integer type.
  const uint64_t number = static_cast<uint64_t>(value);
  std::memcpy(out, &number, type.bytes);
}

}  // namespace hccl_test
