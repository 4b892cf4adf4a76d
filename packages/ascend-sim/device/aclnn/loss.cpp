// SPDX-License-Identifier: Apache-2.0
// Loss functions. Reduction: 0 none, 1 mean, 2 sum.
#include <numeric>

#include "pointwise.h"

using namespace npusim;

namespace {

enum Reduction { kNone = 0, kMean = 1, kSum = 2 };

void storeReduced(const Values<double>& losses, double divisor, int64_t reduction,
                  const Tensor& out) {
  if (reduction == kNone) return store(out, losses);
  const double total = std::accumulate(losses.begin(), losses.end(), 0.0);
  store(out, Values<double>{reduction == kMean ? total / divisor : total});
}

template <class Loss>
void pairLoss(const Tensor& self, const Tensor& target, int64_t reduction, const Tensor& out,
              Loss&& loss) {
  const Shape shape = broadcastShape(self.shape, target.shape);
  Values<double> values = load<double>(self, shape);
  const Values<double> targets = load<double>(target, shape);
  for (size_t i = 0; i < values.size(); ++i) values[i] = loss(values[i], targets[i]);
  storeReduced(values, static_cast<double>(values.size()), reduction, out);
}

template <class Slope>
void pairLossBackward(const Tensor& gradient, const Tensor& self, const Tensor& target,
                      int64_t reduction, const Tensor& out, Slope&& slope) {
  const double scale = reduction == kMean ? 1.0 / static_cast<double>(out.size()) : 1;
  map3<double>(out, gradient, self, target,
               [&](double g, double x, double t) { return g * scale * slope(x, t); });
}

void MseLoss(const Tensor& self, const Tensor& target, int64_t reduction, const Tensor& out) {
  pairLoss(self, target, reduction, out, [](double x, double t) { return (x - t) * (x - t); });
}
void MseLossBackward(const Tensor& gradient, const Tensor& self, const Tensor& target,
                     int64_t reduction, const Tensor& out) {
  pairLossBackward(gradient, self, target, reduction, out,
                   [](double x, double t) { return 2 * (x - t); });
}

void L1Loss(const Tensor& self, const Tensor& target, int64_t reduction, const Tensor& out) {
  pairLoss(self, target, reduction, out, [](double x, double t) { return std::abs(x - t); });
}
void L1LossBackward(const Tensor& gradient, const Tensor& self, const Tensor& target,
                    int64_t reduction, const Tensor& out) {
  pairLossBackward(gradient, self, target, reduction, out,
                   [](double x, double t) { return (x > t) - (x < t); });
}

void SmoothL1Loss(const Tensor& self, const Tensor& target, int64_t reduction, float beta,
                  const Tensor& out) {
  pairLoss(self, target, reduction, out, [=](double x, double t) {
    const double distance = std::abs(x - t);
    return distance < beta ? distance * distance / (2 * beta) : distance - beta / 2;
  });
}
void SmoothL1LossBackward(const Tensor& gradient, const Tensor& self, const Tensor& target,
                          int64_t reduction, float beta, const Tensor& out) {
  pairLossBackward(gradient, self, target, reduction, out, [=](double x, double t) {
    const double distance = x - t;
    return std::abs(distance) < beta ? distance / beta : std::copysign(1.0, distance);
  });
}

double weightAt(const Values<double>& weights, size_t index) {
  return weights.empty() ? 1 : weights.at(index);
}
Values<double> optional(const Tensor* tensor) {
  return tensor ? load<double>(*tensor) : Values<double>{};
}

// The place of a target's score among those of all rows.
int64_t scoreAt(size_t row, int64_t wanted, int64_t classes) {
  if (wanted < 0 || wanted >= classes) {
    throw DeviceFault("a target is class " + std::to_string(wanted) + " of " +
                      std::to_string(classes) + ", whose numbers begin at 0");
  }
  return static_cast<int64_t>(row) * classes + wanted;
}

void NLLLoss(const Tensor& self, const Tensor& target, const Tensor* weight, int64_t reduction,
             int64_t ignored, const Tensor& out, const Tensor& total_weight) {
  const Values<double> scores = load<double>(self);
  const Values<double> weights = optional(weight);
  const int64_t classes = self.dim(-1);
  Values<double> losses;
  double total = 0;
  for (int64_t wanted : load<int64_t>(target)) {
    const size_t row = losses.size();
    if (wanted == ignored) {
      losses.push_back(0);
      continue;
    }
    const int64_t at = scoreAt(row, wanted, classes);
    const double w = weightAt(weights, wanted);
    losses.push_back(w == 0 ? 0 : -w * scores.at(at));
    total += w;
  }
  storeReduced(losses, total, reduction, out);
  store(total_weight, Values<double>(total_weight.size(), total));
}

void NLLLossBackward(const Tensor& gradient, const Tensor& self, const Tensor& target,
                     const Tensor* weight, int64_t reduction, int64_t ignored,
                     const Tensor& total_weight, const Tensor& out) {
  const Values<int64_t> wanted = load<int64_t>(target);
  const Values<double> weights = optional(weight);
  const Values<double> incoming = load<double>(gradient);
  const int64_t classes = self.dim(-1);
  const double divisor = reduction == kMean ? single<double>(total_weight) : 1;
  Values<double> result(out.size(), 0);
  for (size_t row = 0; row < wanted.size(); ++row) {
    if (wanted[row] == ignored) continue;
    const double g = incoming.at(reduction == kNone ? row : 0);
    result.at(scoreAt(row, wanted[row], classes)) = -g * weightAt(weights, wanted[row]) / divisor;
  }
  store(out, result);
}

void BinaryCrossEntropy(const Tensor& self, const Tensor& target, const Tensor* weight,
                        int64_t reduction, const Tensor& out) {
  const Values<double> weights = weight ? load<double>(*weight, self.shape) : optional(weight);
  size_t at = 0;
  pairLoss(self, target, reduction, out, [&](double x, double t) {
    const double yes = std::max(std::log(x), -100.0), no = std::max(std::log1p(-x), -100.0);
    return -weightAt(weights, at++) * (t * yes + (1 - t) * no);
  });
}
void BinaryCrossEntropyBackward(const Tensor& gradient, const Tensor& self, const Tensor& target,
                                const Tensor* weight, int64_t reduction, const Tensor& out) {
  const Values<double> weights = weight ? load<double>(*weight, self.shape) : optional(weight);
  size_t at = 0;
  pairLossBackward(gradient, self, target, reduction, out, [&](double x, double t) {
    return weightAt(weights, at++) * (x - t) / std::max(x * (1 - x), 1e-12);
  });
}

double softplusOfMinus(double x) { return std::max(-x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

void BinaryCrossEntropyWithLogits(const Tensor& self, const Tensor& target, const Tensor* weight,
                                  const Tensor* positive, int64_t reduction, const Tensor& out) {
  const Values<double> weights = weight ? load<double>(*weight, self.shape) : optional(weight);
  const Values<double> raise =
      positive ? load<double>(*positive, self.shape) : optional(positive);
  size_t at = 0;
  pairLoss(self, target, reduction, out, [&](double x, double t) {
    const double lift = 1 + (weightAt(raise, at) - 1) * t;
    return weightAt(weights, at++) * ((1 - t) * x + lift * softplusOfMinus(x));
  });
}
void BinaryCrossEntropyWithLogitsBackward(const Tensor& gradient, const Tensor& self,
                                          const Tensor& target, const Tensor* weight,
                                          const Tensor* positive, int64_t reduction,
                                          const Tensor& out) {
  const Values<double> weights = weight ? load<double>(*weight, self.shape) : optional(weight);
  const Values<double> raise =
      positive ? load<double>(*positive, self.shape) : optional(positive);
  size_t at = 0;
  pairLossBackward(gradient, self, target, reduction, out, [&](double x, double t) {
    const double lift = 1 + (weightAt(raise, at) - 1) * t;
    return weightAt(weights, at++) * ((1 - t) - lift / (1 + std::exp(x)));
  });
}

}  // namespace

ACLNN(MseLoss, MseLoss)
ACLNN(MseLossOut, MseLoss)
ACLNN(MseLossBackward, MseLossBackward)
ACLNN(L1Loss, L1Loss)
ACLNN(L1LossBackward, L1LossBackward)
ACLNN(SmoothL1Loss, SmoothL1Loss)
ACLNN(SmoothL1LossBackward, SmoothL1LossBackward)
ACLNN(NLLLoss, NLLLoss)
ACLNN(NLLLossBackward, NLLLossBackward)
ACLNN(BinaryCrossEntropy, BinaryCrossEntropy)
ACLNN(BinaryCrossEntropyBackward, BinaryCrossEntropyBackward)
ACLNN(BinaryCrossEntropyWithLogits, BinaryCrossEntropyWithLogits)
ACLNN(BinaryCrossEntropyWithLogitsBackward, BinaryCrossEntropyWithLogitsBackward)
