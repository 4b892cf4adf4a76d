// SPDX-License-Identifier: Apache-2.0
// Convolution of one, two or three spatial dimensions, written as the plain sum. A transposed
// convolution is the same sum with input and output exchanged, and so are the gradients.
#include "entry.h"

using namespace npusim;

namespace {

int64_t pixelsOf(const Shape& shape) { return product(shape.part(2, shape.size())); }

struct Geometry {
  Shape stride, padding, dilation;
  int64_t groups;
};

// The three arrays of one link: `small` is the output of a convolution of `large` with `weight`,
// shapes (N, C_out, ...), (N, C_in, ...) and (C_out, C_in / groups, ...).
struct Link {
  Shape small, large, weight;
  Geometry geometry;

  // Throws where the shapes do not belong together.
  void requireFit() const {
    const size_t rank = weight.size();
    const bool fits = rank > 2 && small.size() == rank && large.size() == rank &&
                      geometry.groups > 0 && small[0] == large[0] && small[1] == weight[0] &&
                      small[1] % geometry.groups == 0 &&
                      large[1] == weight[1] * geometry.groups;
    if (!fits) throw Error(kAclnnInvalidParam, "the shapes of a convolution do not fit");
  }

  // Calls visit(small, large, weight positions) for each product of the sum.
  template <class Visit>
  void each(Visit&& visit) const {
    const Shape steps = denseStrides(weight);
    const int64_t kernel = pixelsOf(weight), pixels = pixelsOf(small);
    const int64_t large_pixels = pixelsOf(large);
    const int64_t group_out = small[1] / geometry.groups, group_in = weight[1];
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      for (int64_t tap = 0; tap < kernel; ++tap) {
        const int64_t at = source(pixel, tap);
        if (at < 0) continue;  // in the padding
        for (int64_t n = 0; n < small[0]; ++n) {
          for (int64_t out = 0; out < small[1]; ++out) {
            const int64_t first = out / group_out * group_in;
            for (int64_t in = 0; in < group_in; ++in) {
              visit((n * small[1] + out) * pixels + pixel,
                    (n * large[1] + first + in) * large_pixels + at,
                    out * steps[0] + in * steps[1] + tap);
            }
          }
        }
      }
    }
  }

 private:
  int64_t source(int64_t pixel, int64_t tap) const {
    int64_t position = 0, scale = 1;
    for (size_t d = small.size(); d-- > 2;) {
      const size_t axis = d - 2;
      const int64_t at = pixel % small[d] * geometry.stride[axis] +
                         tap % weight[d] * geometry.dilation[axis] - geometry.padding[axis];
      if (at < 0 || at >= large[d]) return -1;
      position += at * scale;
      scale *= large[d];
      pixel /= small[d];
      tap /= weight[d];
    }
    return position;
  }
};

Shape spatial(const IntArray& values, size_t axes) {
  return values.items.size() == 1 ? Shape(axes, values.items[0]) : values.items;
}

// What is in front of each dimension. The sizes may also come in pairs, in front and behind; the
// shape of the output tells what is behind.
Shape before(const IntArray& padding, size_t axes) {
  const size_t count = padding.items.size();
  if (count == axes || count == 1) return spatial(padding, axes);
  if (count != 2 * axes) {
    throw Error(kAclnnInvalidParam, "this form of convolution padding is not simulated");
  }
  Shape first;
  for (size_t axis = 0; axis < axes; ++axis) first.push_back(padding.items[2 * axis]);
  return first;
}

Link linked(const Tensor& input, const Tensor& weight, const Tensor& output,
            const IntArray& stride, const IntArray& padding, const IntArray& dilation,
            bool transposed, int64_t groups) {
  const size_t axes = weight.shape.size() - 2;
  Geometry geometry{spatial(stride, axes), before(padding, axes), spatial(dilation, axes), groups};
  const Link link = transposed ? Link{input.shape, output.shape, weight.shape, geometry}
                               : Link{output.shape, input.shape, weight.shape, geometry};
  link.requireFit();
  return link;
}

void Convolution(const Tensor& input, const Tensor& weight, const Tensor* bias,
                 const IntArray& stride, const IntArray& padding, const IntArray& dilation,
                 bool transposed, const IntArray&, int64_t groups, const Tensor& out, int8_t) {
  if (transposed && weight.size() == 0) {
    throw Error(kAclnnInvalidParam, "a transposed convolution with an empty filter");
  }
  const Link link = linked(input, weight, out, stride, padding, dilation, transposed, groups);
  const Values<double> x = load<double>(input), w = load<double>(weight);
  Values<double> y(out.size(), 0);
  link.each([&](int64_t small, int64_t large, int64_t tap) {
    y[transposed ? large : small] += x[transposed ? small : large] * w[tap];
  });
  if (bias != nullptr) {
    const Values<double> b = load<double>(*bias);
    const int64_t pixels = pixelsOf(out.shape);
    for (size_t i = 0; i < y.size(); ++i) y[i] += b[i / pixels % out.shape[1]];
  }
  store(out, y);
}

void ConvolutionBackward(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                         const IntArray*, const IntArray& stride, const IntArray& padding,
                         const IntArray& dilation, bool transposed, const IntArray&,
                         int64_t groups, const BoolArray& wanted, int8_t, const Tensor* grad_input,
                         const Tensor* grad_weight, const Tensor* grad_bias) {
  const Link link = linked(input, weight, gradient, stride, padding, dilation, transposed, groups);
  const Values<double> g = load<double>(gradient), x = load<double>(input),
                            w = load<double>(weight);
  Values<double> input_sum(x.size(), 0), weight_sum(w.size(), 0);
  link.each([&](int64_t small, int64_t large, int64_t tap) {
    const double incoming = g[transposed ? large : small];
    const int64_t source = transposed ? small : large;
    input_sum[source] += incoming * w[tap];
    weight_sum[tap] += incoming * x[source];
  });
  if (wanted.items.at(0) && grad_input != nullptr) store(*grad_input, input_sum);
  if (wanted.items.at(1) && grad_weight != nullptr) store(*grad_weight, weight_sum);
  if (wanted.items.at(2) && grad_bias != nullptr) {
    Values<double> bias_sum(gradient.shape[1], 0);
    const int64_t pixels = pixelsOf(gradient.shape);
    for (size_t i = 0; i < g.size(); ++i) bias_sum[i / pixels % gradient.shape[1]] += g[i];
    store(*grad_bias, bias_sum);
  }
}

}  // namespace

ACLNN(Convolution, Convolution)
ACLNN(ConvolutionBackward, ConvolutionBackward)
