// SPDX-License-Identifier: Apache-2.0
// Applies a function to each element of broadcast operands.
#pragma once

#include "entry.h"

namespace npusim {

template <class T, class Function>
void map1(const Tensor& out, const Tensor& a, Function&& function) {
  Values<T> values = load<T>(a, out.shape);
  for (T& value : values) value = static_cast<T>(function(value));
  store(out, values);
}

template <class T, class Function>
void map2(const Tensor& out, const Tensor& a, const Tensor& b, Function&& function) {
  Values<T> values = load<T>(a, out.shape);
  Values<T> others = load<T>(b, out.shape);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(function(values[i], others[i]));
  }
  store(out, values);
}

template <class T, class Function>
void map3(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& c,
          Function&& function) {
  Values<T> values = load<T>(a, out.shape);
  Values<T> seconds = load<T>(b, out.shape);
  Values<T> thirds = load<T>(c, out.shape);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(function(values[i], seconds[i], thirds[i]));
  }
  store(out, values);
}

}  // namespace npusim
