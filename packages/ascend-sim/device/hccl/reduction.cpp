// SPDX-License-Identifier: Apache-2.0
#include "reduction.h"

#include "../aclnn/arithmetic.h"
#include "../runtime/devices.h"
#include "../runtime/memory.h"

namespace npusim {
namespace {

enum ReduceOperation { kSum = 0, kProduct = 1, kMaximum = 2, kMinimum = 3 };

template <class T>
T combined(T a, T b, int operation) {
  switch (operation) {
    case kSum: return a + b;
    case kProduct: return a * b;
    case kMaximum: return larger(a, b);
    case kMinimum: return smaller(a, b);
  }
  throw Error(kHcclParameter, "reduce operation " + std::to_string(operation));
}

// In rank order and in the computing type, so that all ranks get the same bits.
template <class T>
Values<T> reduced(Communicator& group, const Call& call, const void* send, uint64_t count) {
  const DataType dtype = elementTypeOf(call.type);
  const size_t size = elementSize(dtype);
  Values<T> result(count);
  group.exchange(call, send, count * size,
                 [&](uint32_t rank, size_t offset, const uint8_t* data, size_t bytes) {
    Tensor view{dtype, {static_cast<int64_t>(bytes / size)}, {1}, 0,
                const_cast<uint8_t*>(data)};
    const Values<T> values = load<T>(view, Memory::Host);
    T* out = result.data() + offset / size;
    for (size_t i = 0; i < values.size(); ++i) {
      out[i] = rank == 0 ? values[i] : combined(out[i], values[i], call.reduction);
    }
  });
  return result;
}

void requireReducible(int hccl_type) {
  static const char* names[] = {"int8",   "int16", "int32",  "float16", "float32", "int64",
                                "uint64", "uint8", "uint16", "uint32",  "float64", "bfloat16"};
  const char* reducible = chip().reduces;
  if (*reducible == '\0' || isNamed(reducible, names[hccl_type])) return;
  throw Error(kHcclNotSupported, std::string("HCCL does not reduce ") + names[hccl_type] + " on " +
                                     socName() + ", which reduces " + reducible);
}

}  // namespace

DataType elementTypeOf(int hccl_type) {
  static const DataType types[] = {
      DataType::Int8,   DataType::Int16,  DataType::Int32, DataType::Half,
      DataType::Float,  DataType::Int64,  DataType::Uint64, DataType::Uint8,
      DataType::Uint16, DataType::Uint32, DataType::Double, DataType::Bfloat16};
  if (hccl_type < 0 || hccl_type > 11) {
    throw Error(kHcclParameter,
                "HCCL data type " + std::to_string(hccl_type) + " is not simulated");
  }
  return types[hccl_type];
}

bool isNamed(const char* list, const char* name) {
  return ("," + std::string(list) + ",").find("," + std::string(name) + ",") != std::string::npos;
}

size_t bytesOf(uint64_t count, int hccl_type) {
  const size_t size = elementSize(elementTypeOf(hccl_type));
  if (count > SIZE_MAX / 2 / size) {
    throw Error(kHcclParameter, std::to_string(count) + " elements are too many");
  }
  return count * size;
}

void requireBuffer(const void* buffer, size_t bytes) {
  if (bytes == 0 || isAccessible(buffer, bytes)) return;
  throw Error(kHcclParameter, "a buffer of " + std::to_string(bytes) +
                                  " bytes does not lie in the device's memory");
}

void reduceInto(Communicator& group, const Call& call, const void* send, void* receive,
                uint64_t count, Range range) {
  if (call.reduction < kSum || call.reduction > kMinimum) {
    throw Error(kHcclParameter, "reduce operation " + std::to_string(call.reduction));
  }
  requireBuffer(send, bytesOf(count, call.type));
  requireReducible(call.type);
  requireBuffer(receive, bytesOf(range.kept, call.type));
  Tensor out{elementTypeOf(call.type), {static_cast<int64_t>(range.kept)}, {1}, 0,
             static_cast<uint8_t*>(receive)};
  withComputeType({&out}, [&](auto zero) {
    using T = decltype(zero);
    const Values<T> all = reduced<T>(group, call, send, count);
    store(out, all.part(range.first, range.first + range.kept));
  });
}

}  // namespace npusim
