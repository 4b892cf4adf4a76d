// SPDX-License-Identifier: Apache-2.0
// Group normalization: (N, C, pixels) with a mean and deviation for each group of channels.
#include "entry.h"

using namespace npusim;

namespace {

Values<double> channelValues(const Tensor* tensor, int64_t channels, double missing) {
  return tensor ? load<double>(*tensor) : Values<double>(channels, missing);
}

// Throws where the numbers do not fit a tensor of `size` elements, which has one group at least.
int64_t groupLength(int64_t batch, int64_t channels, int64_t pixels, int64_t groups, size_t size) {
  if (groups < 1 || batch < 0 || channels % groups != 0 ||
      product({batch, channels, pixels}) != static_cast<int64_t>(size)) {
    throw Error(kAclnnInvalidParam, "the sizes of a group normalization do not fit its tensor");
  }
  return channels / groups * pixels;
}

void GroupNorm(const Tensor& self, const Tensor* weight, const Tensor* bias, int64_t batch,
               int64_t channels, int64_t pixels, int64_t groups, double epsilon, const Tensor& out,
               const Tensor& mean, const Tensor& inverse) {
  Values<double> x = load<double>(self), means, inverses;
  const auto w = channelValues(weight, channels, 1), b = channelValues(bias, channels, 0);
  const int64_t length = groupLength(batch, channels, pixels, groups, x.size());
  for (int64_t r = 0; r < batch * groups; ++r) {
    double* row = x.span(r * length, length);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < length; ++i) sum += row[i];
    means.push_back(sum / static_cast<double>(length));
    for (int64_t i = 0; i < length; ++i) squares += (row[i] - means[r]) * (row[i] - means[r]);
    inverses.push_back(1 / std::sqrt(squares / static_cast<double>(length) + epsilon));
    for (int64_t i = 0; i < length; ++i) {
      const int64_t channel = (r * length + i) / pixels % channels;
      row[i] = (row[i] - means[r]) * inverses[r] * w[channel] + b[channel];
    }
  }
  store(out, x);
  store(mean, means);
  store(inverse, inverses);
}

void GroupNormBackward(const Tensor& gradient, const Tensor& self, const Tensor& mean,
                       const Tensor& inverse, const Tensor* weight, int64_t batch,
                       int64_t channels, int64_t pixels, int64_t groups, const BoolArray&,
                       const Tensor* grad_self, const Tensor* grad_weight,
                       const Tensor* grad_bias) {
  Values<double> g = load<double>(gradient), x = load<double>(self);
  const auto means = load<double>(mean), inverses = load<double>(inverse);
  const auto w = channelValues(weight, channels, 1);
  Values<double> weight_sum(channels, 0), bias_sum(channels, 0);
  const int64_t length = groupLength(batch, channels, pixels, groups, x.size());
  const double count = static_cast<double>(length);
  for (int64_t r = 0; r < batch * groups; ++r) {
    double sum = 0, product = 0;
    for (int64_t i = r * length; i < (r + 1) * length; ++i) {
      const int64_t channel = i / pixels % channels;
      x[i] = (x[i] - means[r]) * inverses[r];
      weight_sum[channel] += g[i] * x[i];
      bias_sum[channel] += g[i];
      g[i] *= w[channel];
      sum += g[i], product += g[i] * x[i];
    }
    for (int64_t i = r * length; i < (r + 1) * length; ++i) {
      g[i] = inverses[r] * (g[i] - sum / count - x[i] * product / count);
    }
  }
  if (grad_self != nullptr) store(*grad_self, g);
  if (grad_weight != nullptr) store(*grad_weight, weight_sum);
  if (grad_bias != nullptr) store(*grad_bias, bias_sum);
}

}  // namespace

ACLNN(GroupNorm, GroupNorm)
ACLNN(GroupNormBackward, GroupNormBackward)
