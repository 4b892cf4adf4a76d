// SPDX-License-Identifier: Apache-2.0
#include "rows.h"

namespace npusim {

Tensor dimsLast(const Tensor& tensor, const Shape& dims) {
  if (tensor.rank() == 0) return tensor;
  Values<bool> moved(tensor.shape.size(), false);
  for (int64_t dim : dims) moved[tensor.wrapped(dim)] = true;
  Tensor view = tensor;
  view.shape.clear();
  view.strides.clear();
  for (bool last : {false, true}) {
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      if (moved[i] != last) continue;
      view.shape.push_back(tensor.shape[i]);
      view.strides.push_back(tensor.strides[i]);
    }
  }
  return view;
}

Shape everyDim(const Tensor& tensor) {
  Shape dims(tensor.shape.size());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  return dims;
}

}  // namespace npusim
