// SPDX-License-Identifier: Apache-2.0
// Reads and writes rows of a tensor, whatever its element type. An index outside of it is an error.
#pragma once

#include <vector>

#include "interface.h"

namespace atb {

using Row = std::vector<double>;

class Rows {
 public:
  explicit Rows(const Tensor& tensor);

  size_t count() const { return count_; }  // of elements
  const Dims& shape() const { return tensor_.desc.shape; }
  size_t size(size_t dimension) const;
  size_t last() const { return size(shape().count - 1); }

  Row read(size_t first, size_t count) const;
  void write(size_t first, const Row& values) const;
  int64_t integer(size_t index) const;
  // Where `count` elements begin, for copies of equal types.
  char* bytes(size_t first, size_t count) const;
  size_t elementBytes() const;

 private:
  void requireInside(size_t first, size_t count) const;

  Tensor tensor_;
  size_t count_;
};

}  // namespace atb
