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

// What `load` returns has as many elements as `out`: none of them is checked again.
template <class T, class Function>
void map2(const Tensor& out, const Tensor& a, const Tensor& b, Function&& function) {
  Values<T> values = load<T>(a, out.shape);
  const Values<T> others = load<T>(b, out.shape);
  const T* other = others.data();
  for (T& value : values) value = static_cast<T>(function(value, *other++));
  store(out, values);
}

template <class T, class Function>
void map3(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& c,
          Function&& function) {
  Values<T> values = load<T>(a, out.shape);
  const Values<T> seconds = load<T>(b, out.shape);
  const Values<T> thirds = load<T>(c, out.shape);
  const T *second = seconds.data(), *third = thirds.data();
  for (T& value : values) value = static_cast<T>(function(value, *second++, *third++));
  store(out, values);
}

}  // namespace npusim
