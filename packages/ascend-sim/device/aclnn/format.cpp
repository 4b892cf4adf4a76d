// SPDX-License-Identifier: Apache-2.0
// Private memory layouts. Every tensor stays dense here, whatever its format: a conversion is a
// copy, and only the size that the layout would have is true.
#include <cstdlib>

#include "entry.h"

using namespace npusim;

namespace {

enum Format : int {
  kNd = 2,
  kNc1hwc0 = 3,
  kFractalZ = 4,
  kFractalNz = 29,
  kNdc1hwc0 = 32,
  kFractalZ3d = 33,
};

constexpr int64_t kBlock = 16;
constexpr int64_t kBlockBytes = 32;

int64_t blocks(int64_t extent, int64_t block) { return (extent + block - 1) / block; }

// The extents that a tensor of this shape has in memory, in blocks of `width` and kBlock elements.
Shape storageShape(const Shape& shape, int format, int64_t width) {
  Shape padded = shape;
  while (padded.size() < 2) padded.insert(padded.begin(), 1);
  const size_t rank = padded.size();
  switch (format) {
    case kFractalNz: {
      Shape result = padded.part(0, rank - 2);
      for (int64_t extent : {blocks(padded[rank - 1], width), blocks(padded[rank - 2], kBlock),
                             kBlock, width}) {
        result.push_back(extent);
      }
      return result;
    }
    case kNc1hwc0:
      if (rank != 4) break;
      return {padded[0], blocks(padded[1], width), padded[2], padded[3], width};
    case kFractalZ:
      if (rank != 4) break;
      return {blocks(padded[1], width) * padded[2] * padded[3], blocks(padded[0], kBlock), kBlock,
              width};
    case kNdc1hwc0:
      if (rank != 5) break;
      return {padded[0], padded[2], blocks(padded[1], width), padded[3], padded[4], width};
    case kFractalZ3d:
      if (rank != 5) break;
      return {padded[2] * blocks(padded[1], width) * padded[3] * padded[4],
              blocks(padded[0], kBlock), kBlock, width};
    default: return shape;
  }
  throw Error(kAclnnInvalidParam, "format " + std::to_string(format) + " does not fit a tensor of " +
                                      std::to_string(shape.size()) + " dimensions");
}

void NpuFormatCast(const Tensor& self, const Tensor& out) {
  withComputeType({&self}, [&](auto zero) {
    // Seen as dense: the views of the two may differ in the order of their dimensions.
    Tensor plain = out;
    plain.shape = self.shape, plain.strides = denseStrides(self.shape);
    store(plain, load<decltype(zero)>(self));
  });
}

}  // namespace

// The caller releases the array with delete[], hence malloc, on which every delete[] builds.
NPUSIM_API int aclnnNpuFormatCastCalculateSizeAndFormat(const void* handle, int format, int type,
                                                        int64_t** dims, uint64_t* rank,
                                                        int* actual_format) {
  return guarded([&] {
    if (dims == nullptr || rank == nullptr || actual_format == nullptr) {
      throw Error(kAclnnNullPointer, "a result has no place (null)");
    }
    const Tensor self = *opened<Tensor>(handle);
    const DataType counted = type < 0 ? self.dtype : static_cast<DataType>(type);
    const auto bytes = static_cast<int64_t>(elementSize(counted));
    const Shape shape = storageShape(self.shape, format, std::max<int64_t>(1, kBlockBytes / bytes));
    *dims = static_cast<int64_t*>(std::malloc(std::max<size_t>(1, shape.size()) * sizeof **dims));
    std::copy(shape.begin(), shape.end(), *dims);
    *rank = shape.size();
    *actual_format = format;
  });
}

ACLNN(NpuFormatCast, NpuFormatCast)
