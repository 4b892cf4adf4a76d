// SPDX-License-Identifier: Apache-2.0
// What the older operator interface (aclop) is told of tensors and their memory.
#include "operator_descriptions.h"

using namespace npusim;

namespace {

std::vector<int64_t> extents(int rank, const int64_t* dims) {
  if (rank < 0 || rank > kMostDims || (dims == nullptr && rank != 0)) {
    throw Error(kInvalidParam, "a description needs at least 0 and at most " +
                                   std::to_string(kMostDims) + " dimensions");
  }
  return std::vector<int64_t>(dims, dims + rank);
}

}  // namespace

NPUSIM_API void* aclCreateTensorDesc(int32_t dtype, int rank, const int64_t* dims,
                                     int32_t format) {
  void* desc = nullptr;
  guarded([&] {
    desc = publish(std::make_shared<TensorDesc>(TensorDesc{dtype, extents(rank, dims), format, false}));
  });
  return desc;
}
NPUSIM_API void aclDestroyTensorDesc(const void* desc) {
  guarded([&] { withdrawn<TensorDesc>(desc); });
}
NPUSIM_API void aclSetTensorDescName(void*, const char*) {}
NPUSIM_API int aclSetTensorFormat(void* desc, int32_t format) {
  return guarded([&] { opened<TensorDesc>(desc)->format = format; });
}
// The shape that the format gives the memory; here all formats are dense (aclnn/format.cpp).
NPUSIM_API int aclSetTensorShape(void* desc, int rank, const int64_t* dims) {
  return guarded([&] {
    opened<TensorDesc>(desc);
    extents(rank, dims);
  });
}
NPUSIM_API int aclSetTensorPlaceMent(void* desc, int memory_type) {
  return guarded([&] {
    constexpr int kDevice = 0, kHostCompileIndependent = 2;
    if (memory_type < kDevice || memory_type > kHostCompileIndependent) {
      throw Error(kInvalidParam, "no type of memory has the number " + std::to_string(memory_type));
    }
    opened<TensorDesc>(desc)->on_host = memory_type != kDevice;
  });
}
NPUSIM_API int32_t aclGetTensorDescType(const void* desc) {
  int32_t dtype = -1;
  guarded([&] { dtype = opened<TensorDesc>(desc)->dtype; });
  return dtype;
}
NPUSIM_API int32_t aclGetTensorDescFormat(const void* desc) {
  int32_t format = -1;
  guarded([&] { format = opened<TensorDesc>(desc)->format; });
  return format;
}
NPUSIM_API size_t aclGetTensorDescNumDims(const void* desc) {
  size_t rank = 0;
  guarded([&] { rank = opened<TensorDesc>(desc)->dims.size(); });
  return rank;
}
NPUSIM_API int aclGetTensorDescDimV2(const void* desc, size_t index, int64_t* extent) {
  return guarded([&] { given(extent) = opened<TensorDesc>(desc)->dims.at(index); });
}

NPUSIM_API void* aclCreateDataBuffer(void* data, size_t size) {
  return publish(std::make_shared<DataBuffer>(DataBuffer{data, size}));
}
NPUSIM_API int aclDestroyDataBuffer(const void* buffer) {
  return guarded([&] { withdrawn<DataBuffer>(buffer); });
}
