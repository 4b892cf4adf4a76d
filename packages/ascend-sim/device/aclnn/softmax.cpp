// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm, forward and backward.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "exponential.h"
#include "rows.h"
#include "wide.h"

using namespace npusim;

namespace {

// In lanes, which do not wait for one another.
template <class Step>
[[gnu::always_inline]] inline double folded(const double* row, int64_t length, double start,
                                            Step&& step) {
  constexpr int64_t kLanes = 8;
  double lanes[kLanes];
  std::fill_n(lanes, kLanes, start);
  int64_t at = 0;
  for (; at + kLanes <= length; at += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = step(lanes[lane], row[at + lane]);
  }
  for (; at < length; ++at) lanes[0] = step(lanes[0], row[at]);
  return std::accumulate(lanes + 1, lanes + kLanes, lanes[0], step);
}

// Subtracts a row's largest number from all of it.
WIDE("fma") void shift(double* row, int64_t length) {
  const double top = folded(row, length, -INFINITY, [](double a, double b) { return b > a ? b : a; });
  for (int64_t i = 0; i < length; ++i) row[i] -= top;
}

WIDE("fma") double total(const double* row, int64_t length) {
  return folded(row, length, 0, [](double a, double b) { return a + b; });
}

WIDE("fma") void divide(double* row, int64_t length, double by) {
  for (int64_t i = 0; i < length; ++i) row[i] /= by;
}

// Both shift a row by its largest element alone: the logarithm of the sum would be lost in a huge
// one.
void LogSoftmax(const Tensor& self, int64_t dim, const Tensor& out) {
  transformRows<double>(self, dim, out, [](double* row, int64_t length) {
    shift(row, length);
    std::vector<double> powers(row, row + length);
    exponentials(powers.data(), length);
    const double logarithm = std::log(total(powers.data(), length));
    for (int64_t i = 0; i < length; ++i) row[i] -= logarithm;
  });
}

void Softmax(const Tensor& self, int64_t dim, const Tensor& out) {
  transformRows<double>(self, dim, out, [](double* row, int64_t length) {
    shift(row, length);
    exponentials(row, length);
    divide(row, length, total(row, length));
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
    double* gradients = g.row(r);
    const double* outputs = y.row(r);
    double sum = 0;
    for (int64_t i = 0; i < g.length; ++i) sum += weight(gradients[i], outputs[i]);
    for (int64_t i = 0; i < g.length; ++i) gradients[i] = step(gradients[i], outputs[i], sum);
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
