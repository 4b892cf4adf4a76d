// SPDX-License-Identifier: Apache-2.0
// Average pooling of two spatial dimensions.
#include "entry.h"

using namespace npusim;

namespace {

struct Window {
  int64_t first, last;  // the part inside the input
  int64_t extent;       // the length that the mean divides by when padding counts
};

class Pool {
 public:
  Pool(const IntArray& kernel, const IntArray& stride, const IntArray& padding, bool count_padding,
       int64_t divisor)
      : kernel_(kernel.items), stride_(stride.items.empty() ? kernel.items : stride.items),
        padding_(padding.items), count_padding_(count_padding), divisor_(divisor) {}

  // Calls visit(output position, input position, divisor) for each term of each mean.
  template <class Visit>
  void each(const Shape& input, const Shape& output, Visit&& visit) const {
    const int64_t height = input[input.size() - 2], width = input.back();
    const int64_t rows = output[output.size() - 2], columns = output.back();
    const int64_t planes = product(output) / std::max<int64_t>(1, rows * columns);
    for (int64_t at = 0; at < planes * rows * columns; ++at) {
      const Window y = window(0, at / columns % rows, height);
      const Window x = window(1, at % columns, width);
      const auto divisor = static_cast<double>(terms(y, x));
      const int64_t plane = at / (rows * columns) * height * width;
      for (int64_t i = y.first; i < y.last; ++i) {
        for (int64_t j = x.first; j < x.last; ++j) visit(at, plane + i * width + j, divisor);
      }
    }
  }

 private:
  static int64_t axis(const Shape& values, size_t index) {
    return values.size() == 1 ? values[0] : values.at(index);
  }
  Window window(size_t index, int64_t position, int64_t extent) const {
    const int64_t padding = axis(padding_, index);
    const int64_t start = position * axis(stride_, index) - padding;
    const int64_t end = std::min(start + axis(kernel_, index), extent + padding);
    return {std::max<int64_t>(0, start), std::min(end, extent), end - start};
  }
  int64_t terms(const Window& y, const Window& x) const {
    if (divisor_ != 0) return divisor_;
    return count_padding_ ? y.extent * x.extent : (y.last - y.first) * (x.last - x.first);
  }

  Shape kernel_, stride_, padding_;
  bool count_padding_;
  int64_t divisor_;
};

void AvgPool2d(const Tensor& self, const IntArray& kernel, const IntArray& stride,
               const IntArray& padding, bool, bool count_padding, int64_t divisor, int8_t,
               const Tensor& out) {
  const Values<double> x = load<double>(self);
  // Only the whole sum is divided: a sum of quotients can be a little less than the integer that
  // it stands for, and would be cut off below it.
  Values<double> means(out.size(), 0), divisors(out.size(), 1);
  Pool(kernel, stride, padding, count_padding, divisor)
      .each(self.shape, out.shape, [&](int64_t to, int64_t from, double divisor) {
        means[to] += x[from];
        divisors[to] = divisor;
      });
  for (size_t i = 0; i < means.size(); ++i) means[i] /= divisors[i];
  store(out, means);
}

void AvgPool2dBackward(const Tensor& gradient, const Tensor& self, const IntArray& kernel,
                       const IntArray& stride, const IntArray& padding, bool, bool count_padding,
                       int64_t divisor, int8_t, const Tensor& out) {
  const Values<double> g = load<double>(gradient);
  Values<double> sums(out.size(), 0);
  Pool(kernel, stride, padding, count_padding, divisor)
      .each(self.shape, gradient.shape, [&](int64_t to, int64_t from, double divisor) {
        sums[from] += g[to] / divisor;
      });
  store(out, sums);
}

}  // namespace

ACLNN(AvgPool2d, AvgPool2d)
ACLNN(AvgPool2dBackward, AvgPool2dBackward)
