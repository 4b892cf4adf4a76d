// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm, forward and backward.
#include <algorithm>

#include "rows.h"

using namespace npusim;

namespace {

// Both shift a row by its largest element alone: the logarithm of the sum would be lost in a huge
// one.
void LogSoftmax(const Tensor& self, int64_t dim, const Tensor& out) {
  transformRows<double>(self, dim, out, [](double* row, int64_t length) {
    const double top = *std::max_element(row, row + length);
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += std::exp(row[i] - top);
    const double logarithm = std::log(sum);
    for (int64_t i = 0; i < length; ++i) row[i] = row[i] - top - logarithm;
  });
}

void Softmax(const Tensor& self, int64_t dim, const Tensor& out) {
  transformRows<double>(self, dim, out, [](double* row, int64_t length) {
    const double top = *std::max_element(row, row + length);
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += row[i] = std::exp(row[i] - top);
    for (int64_t i = 0; i < length; ++i) row[i] /= sum;
  });
}

// `step(gradient, output, sum)` gives one element of the result; `sum` is of weight(g, y).
template <class Weight, class Step>
void backward(const Tensor& gradient, const Tensor& output, int64_t dim, const Tensor& out,
              Weight&& weight, Step&& step) {
  Rows<double> g = loadRows<double>(gradient, {dim});
  Rows<double> y = loadRows<double>(output, {dim});
  if (g.length != y.length) {
    throw Error(kAclnnInvalidParam, "the gradient has another shape than the output");
  }
  for (int64_t r = 0; r < g.count; ++r) {
    double sum = 0;
    for (int64_t i = 0; i < g.length; ++i) sum += weight(g.row(r)[i], y.row(r)[i]);
    for (int64_t i = 0; i < g.length; ++i) g.row(r)[i] = step(g.row(r)[i], y.row(r)[i], sum);
  }
  storeRows(out, {dim}, g.values);
}

void SoftmaxBackward(const Tensor& gradient, const Tensor& output, int64_t dim,
                     const Tensor& out) {
  backward(gradient, output, dim, out, [](double g, double y) { return g * y; },
           [](double g, double y, double sum) { return y * (g - sum); });
}

void LogSoftmaxBackward(const Tensor& gradient, const Tensor& output, int64_t dim,
                        const Tensor& out) {
  backward(gradient, output, dim, out, [](double g, double) { return g; },
           [](double g, double y, double sum) { return g - std::exp(y) * sum; });
}

}  // namespace

ACLNN(LogSoftmax, LogSoftmax)
ACLNN(Softmax, Softmax)
ACLNN(SoftmaxBackward, SoftmaxBackward)
ACLNN(LogSoftmaxBackward, LogSoftmaxBackward)
