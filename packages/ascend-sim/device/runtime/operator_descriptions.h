// SPDX-License-Identifier: Apache-2.0
// The older operator interface (aclop) describes a tensor and its memory apart.
#pragma once

#include <memory>
#include <vector>

#include "../core/handles.h"

namespace npusim {

constexpr int kMostDims = 64;

struct TensorDesc {
  static constexpr Kind kKind = Kind::TensorDesc;
  int32_t dtype;
  std::vector<int64_t> dims;
  int32_t format;
  bool on_host = false;
};

struct DataBuffer {
  static constexpr Kind kKind = Kind::DataBuffer;
  void* data;
  size_t size;
};

}  // namespace npusim
