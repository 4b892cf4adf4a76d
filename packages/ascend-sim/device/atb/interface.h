// SPDX-License-Identifier: Apache-2.0
// The part of NNAL's C++ interface (ATB) that torch_npu uses. Layouts of structs and the order of
// virtual functions are those of ATB's headers (op-plugin: third_party/atb/inc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../core/errors.h"

namespace atb {

using Status = int32_t;
using npusim::DataType;
using npusim::Stream;

struct Dims {
  int64_t sizes[8];
  uint64_t count;
};

struct TensorDesc {
  DataType dtype;
  int32_t format;
  Dims shape;
};

struct Tensor {
  TensorDesc desc;
  void* deviceData;
  void* hostData;
  uint64_t bytes;
};

// The caller makes and destroys them; they are only read here.
template <class T>
class SVector {
 public:
  size_t size() const { return size_; }
  const T* begin() const { return heap_ != nullptr ? heap_ : inside_; }
  const T* end() const { return begin() + size_; }

 private:
  size_t capacity_;
  size_t size_;
  T inside_[65];
  T* heap_;
};

struct VariantPack {
  SVector<Tensor> inputs;
  SVector<Tensor> outputs;
};

class Context {
 public:
  virtual ~Context() = default;
  virtual Status SetExecuteStream(Stream stream) = 0;
  virtual Stream GetExecuteStream() const = 0;
  virtual Status SetAsyncTilingCopyStatus(bool enable) = 0;
  virtual bool GetAsyncTilingCopyStatus() const = 0;
};

class Operation {
 public:
  virtual ~Operation() = default;
  virtual std::string GetName() const = 0;
  virtual Status InferShape(const SVector<TensorDesc>& inputs,
                            SVector<TensorDesc>& outputs) const = 0;
  virtual uint32_t GetInputNum() const = 0;
  virtual uint32_t GetOutputNum() const = 0;
  virtual Status Setup(const VariantPack& pack, uint64_t& workspaceBytes, Context* context) = 0;
  virtual Status Execute(const VariantPack& pack, uint8_t* workspace, uint64_t workspaceBytes,
                         Context* context) = 0;
};

template <class Param>
Status CreateOperation(const Param& param, Operation** operation);

namespace infer {

struct LinearParam {
  bool transposeA;
  bool transposeB;
  bool hasBias;
  int32_t outDataType;
  bool enAccum;
};

struct RopeParam {
  int32_t rotaryCoeff;
  int32_t cosFormat;
};

struct ReshapeAndCacheParam {
  enum { kBoth = 0, kBothNz = 2 };
  int32_t compressType;
  int32_t kvCacheCfg;
};

struct PagedAttentionParam {
  int32_t headNum;
  float qkScale;
  int32_t kvHeadNum;
  int32_t maskType;
  bool batchRunStatusEnable;
  int32_t quantType;
  int32_t outDataType;
  bool hasQuantOffset;
  int32_t compressType;
  int32_t calcType;
  int32_t scaleType;
};

struct SelfAttentionParam {
  enum { kPagedEncoder = 3 };
  enum { kNoMask = 0, kMask = 1 };
  int32_t quantType;
  int32_t outDataType;
  int32_t headNum;
  int32_t kvHeadNum;
  float qScale;
  float qkScale;
  bool batchRunStatusEnable;
  uint32_t isTriuMask;
  int32_t calcType;
  int32_t kernelType;
  int32_t clampType;
  float clampMin;
  float clampMax;
  int32_t maskType;
  int32_t kvcacheCfg;
  int32_t scaleType;
};

}  // namespace infer
}  // namespace atb
