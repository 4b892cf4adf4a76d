// SPDX-License-Identifier: Apache-2.0
// Fused optimizer steps and the loss scale of mixed precision.
#include "entry.h"

using namespace npusim;

namespace {

void ApplyAdamWV2(const Tensor& self, const Tensor& mean, const Tensor& square,
                  const Tensor* largest_square, const Tensor& gradient, const Tensor& step,
                  float rate, float beta1, float beta2, float decay, float epsilon, bool amsgrad,
                  bool maximize) {
  Values<double> x = load<double>(self), m = load<double>(mean), v = load<double>(square);
  Values<double> g = load<double>(gradient);
  if (amsgrad && largest_square == nullptr) {
    throw Error(kAclnnNullPointer, "the largest square is missing (null)");
  }
  Values<double> top = amsgrad ? load<double>(*largest_square) : v;
  const double steps = single<double>(step) + 1;  // op-plugin passes the number of steps before
  const double bias1 = 1 - std::pow(beta1, steps), bias2 = 1 - std::pow(beta2, steps);
  for (size_t i = 0; i < x.size(); ++i) {
    const double slope = maximize ? -g[i] : g[i];
    m[i] += (1 - beta1) * (slope - m[i]);
    v[i] = beta2 * v[i] + (1 - beta2) * slope * slope;
    top[i] = amsgrad ? std::max(top[i], v[i]) : v[i];
    x[i] -= rate * decay * x[i] + rate / bias1 * m[i] / (std::sqrt(top[i] / bias2) + epsilon);
  }
  store(self, x);
  store(mean, m);
  store(square, v);
  if (amsgrad) store(*largest_square, top);
}

void AmpUpdateScale(const Tensor& scale, const Tensor& tracker, const Tensor& found_inf,
                    double growth, double backoff, int64_t interval, const Tensor& new_scale,
                    const Tensor& new_tracker) {
  double value = single<double>(scale);
  int64_t good_steps = single<int64_t>(tracker) + 1;
  if (single<double>(found_inf) != 0) {
    value *= backoff;
    good_steps = 0;
  } else if (good_steps == interval) {
    value *= growth;
    good_steps = 0;
  }
  store(new_scale, Values<double>{value});
  store(new_tracker, Values<int64_t>{good_steps});
}

}  // namespace

ACLNN(ApplyAdamWV2, ApplyAdamWV2)
ACLNN(AmpUpdateScale, AmpUpdateScale)
