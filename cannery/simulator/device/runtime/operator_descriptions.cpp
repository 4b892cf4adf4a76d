// SPDX-License-Identifier: Apache-2.0
// The older operator interface (aclop): descriptions are kept, but no operator is simulated. Where
// torch_npu falls back to it, the operator's aclnn form is what is missing here.
#include <memory>
#include <vector>

#include "../core/handles.h"

using namespace npusim;

namespace {

struct TensorDesc {
  static constexpr Kind kKind = Kind::TensorDesc;
  int32_t dtype;
  std::vector<int64_t> dims;
  int32_t format;
};

struct DataBuffer {
  static constexpr Kind kKind = Kind::DataBuffer;
  void* data;
  size_t size;
};

struct OperatorAttr {
  static constexpr Kind kKind = Kind::OperatorAttr;
};

int acceptedAttr(void* attr) {
  return guarded([&] { opened<OperatorAttr>(attr); });
}

int notSimulated(const char* type) {
  return report(kOperatorNotFound,
                std::string("operator ") + type + " is not simulated in its aclop form");
}

}  // namespace

NPUSIM_API void* aclCreateTensorDesc(int32_t dtype, int rank, const int64_t* dims,
                                     int32_t format) {
  return publish(std::make_unique<TensorDesc>(
      TensorDesc{dtype, std::vector<int64_t>(dims, dims + (dims ? rank : 0)), format}));
}
NPUSIM_API void aclDestroyTensorDesc(const void* desc) {
  guarded([&] { withdrawn<TensorDesc>(desc); });
}
NPUSIM_API void aclSetTensorDescName(void*, const char*) {}
NPUSIM_API int aclSetTensorFormat(void* desc, int32_t format) {
  return guarded([&] { opened<TensorDesc>(desc).format = format; });
}
NPUSIM_API int aclSetTensorShape(void* desc, int rank, const int64_t* dims) {
  return guarded([&] { opened<TensorDesc>(desc).dims.assign(dims, dims + rank); });
}
NPUSIM_API int aclSetTensorPlaceMent(void* desc, int) {
  return guarded([&] { opened<TensorDesc>(desc); });
}
NPUSIM_API int32_t aclGetTensorDescType(const void* desc) {
  int32_t dtype = -1;
  guarded([&] { dtype = opened<TensorDesc>(desc).dtype; });
  return dtype;
}
NPUSIM_API int32_t aclGetTensorDescFormat(const void* desc) {
  int32_t format = -1;
  guarded([&] { format = opened<TensorDesc>(desc).format; });
  return format;
}
NPUSIM_API size_t aclGetTensorDescNumDims(const void* desc) {
  size_t rank = 0;
  guarded([&] { rank = opened<TensorDesc>(desc).dims.size(); });
  return rank;
}
NPUSIM_API int aclGetTensorDescDimV2(const void* desc, size_t index, int64_t* extent) {
  return guarded([&] { *extent = opened<TensorDesc>(desc).dims.at(index); });
}

NPUSIM_API void* aclCreateDataBuffer(void* data, size_t size) {
  return publish(std::make_unique<DataBuffer>(DataBuffer{data, size}));
}
NPUSIM_API int aclDestroyDataBuffer(const void* buffer) {
  return guarded([&] { withdrawn<DataBuffer>(buffer); });
}

NPUSIM_API void* aclopCreateAttr() { return publish(std::make_unique<OperatorAttr>()); }
NPUSIM_API void aclopDestroyAttr(const void* attr) {
  guarded([&] { withdrawn<OperatorAttr>(attr); });
}
NPUSIM_API int aclopSetAttrBool(void* attr, const char*, uint8_t) { return acceptedAttr(attr); }
NPUSIM_API int aclopSetAttrInt(void* attr, const char*, int64_t) { return acceptedAttr(attr); }
NPUSIM_API int aclopSetAttrFloat(void* attr, const char*, float) { return acceptedAttr(attr); }
NPUSIM_API int aclopSetAttrString(void* attr, const char*, const char*) {
  return acceptedAttr(attr);
}
NPUSIM_API int aclopSetAttrDataType(void* attr, const char*, int32_t) {
  return acceptedAttr(attr);
}
NPUSIM_API int aclopSetAttrListBool(void* attr, const char*, int, const uint8_t*) {
  return acceptedAttr(attr);
}
NPUSIM_API int aclopSetAttrListInt(void* attr, const char*, int, const int64_t*) {
  return acceptedAttr(attr);
}
NPUSIM_API int aclopSetAttrListFloat(void* attr, const char*, int, const float*) {
  return acceptedAttr(attr);
}
NPUSIM_API int aclopSetAttrListListInt(void* attr, const char*, int, const int*,
                                       const int64_t* const*) {
  return acceptedAttr(attr);
}

NPUSIM_API int aclopCompileAndExecute(const char* type, int, const void* const*,
                                      const void* const*, int, const void* const*, void* const*,
                                      const void*, int, int, const char*, Stream) {
  return notSimulated(type);
}
NPUSIM_API int aclopCompileAndExecuteV2(const char* type, int, void**, void**, int, void**, void**,
                                        void*, int, int, const char*, Stream) {
  return notSimulated(type);
}
