// SPDX-License-Identifier: Apache-2.0
// Layer, group, batch and root-mean-square normalization, forward and backward.
#include "rows.h"

using namespace npusim;

namespace {

struct Moments {
  double mean;
  double inverse_deviation;
};

Moments momentsOf(const double* row, int64_t length, double epsilon) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < length; ++i) mean += row[i] / static_cast<double>(length);
  for (int64_t i = 0; i < length; ++i) variance += (row[i] - mean) * (row[i] - mean);
  return {mean, 1 / std::sqrt(variance / static_cast<double>(length) + epsilon)};
}

int64_t rowLength(const Shape& normalized) { return std::max<int64_t>(1, product(normalized)); }

Values<double> valuesOr(const Tensor* tensor, int64_t count, double missing) {
  return tensor ? load<double>(*tensor) : Values<double>(count, missing);
}

void storeOptional(const Tensor* out, const Values<double>& values) {
  if (out != nullptr && out->size() != 0) store(*out, values);
}

// The gradient of a normalized row: g is the gradient times the weight, n the normalized values.
void backwardRow(double* g, const double* n, int64_t length, double inverse_deviation) {
  double sum = 0, product = 0;
  for (int64_t i = 0; i < length; ++i) sum += g[i], product += g[i] * n[i];
  const double count = static_cast<double>(length);
  for (int64_t i = 0; i < length; ++i) {
    g[i] = inverse_deviation * (g[i] - sum / count - n[i] * product / count);
  }
}

void LayerNorm(const Tensor& self, const IntArray& normalized, const Tensor* weight,
               const Tensor* bias, double epsilon, const Tensor& out, const Tensor* mean,
               const Tensor* inverse) {
  const int64_t length = rowLength(normalized.items);
  Values<double> x = load<double>(self), means, inverses;
  const Values<double> w = valuesOr(weight, length, 1), b = valuesOr(bias, length, 0);
  for (size_t first = 0; first < x.size(); first += length) {
    double* row = x.span(first, length);
    const Moments m = momentsOf(row, length, epsilon);
    for (int64_t i = 0; i < length; ++i) {
      row[i] = (row[i] - m.mean) * m.inverse_deviation * w[i] + b[i];
    }
    means.push_back(m.mean);
    inverses.push_back(m.inverse_deviation);
  }
  store(out, x);
  storeOptional(mean, means);
  storeOptional(inverse, inverses);
}

void LayerNormBackward(const Tensor& gradient, const Tensor& self, const IntArray& normalized,
                       const Tensor& mean, const Tensor& inverse, const Tensor* weight,
                       const Tensor*, const BoolArray&, const Tensor* grad_self,
                       const Tensor* grad_weight, const Tensor* grad_bias) {
  const int64_t length = rowLength(normalized.items);
  Values<double> g = load<double>(gradient), x = load<double>(self);
  const Values<double> means = load<double>(mean), inverses = load<double>(inverse);
  const Values<double> w = valuesOr(weight, length, 1);
  Values<double> weight_sum(length, 0), bias_sum(length, 0);
  for (size_t r = 0; r < means.size(); ++r) {
    double* grad = g.span(r * length, length);
    double* row = x.span(r * length, length);
    for (int64_t i = 0; i < length; ++i) {
      row[i] = (row[i] - means[r]) * inverses[r];
      weight_sum[i] += grad[i] * row[i];
      bias_sum[i] += grad[i];
      grad[i] *= w[i];
    }
    backwardRow(grad, row, length, inverses[r]);
  }
  storeOptional(grad_self, g);
  storeOptional(grad_weight, weight_sum);
  storeOptional(grad_bias, bias_sum);
}

void RmsNorm(const Tensor& self, const Tensor& weight, double epsilon, const Tensor& out,
             const Tensor& inverse) {
  const int64_t length = rowLength(weight.shape);
  Values<double> x = load<double>(self), inverses;
  const Values<double> w = load<double>(weight);
  for (size_t first = 0; first < x.size(); first += length) {
    double* row = x.span(first, length);
    double squares = 0;
    for (int64_t i = 0; i < length; ++i) squares += row[i] * row[i];
    inverses.push_back(1 / std::sqrt(squares / static_cast<double>(length) + epsilon));
    for (int64_t i = 0; i < length; ++i) row[i] *= inverses.back() * w[i];
  }
  store(out, x);
  store(inverse, inverses);
}

void RmsNormGrad(const Tensor& gradient, const Tensor& self, const Tensor& inverse,
                 const Tensor& weight, const Tensor& grad_self, const Tensor& grad_weight) {
  const int64_t length = rowLength(weight.shape);
  Values<double> g = load<double>(gradient);
  const Values<double> x = load<double>(self), w = load<double>(weight);
  const Values<double> inverses = load<double>(inverse);
  Values<double> weight_sum(length, 0);
  for (size_t r = 0; r < inverses.size(); ++r) {
    double* grad = g.span(r * length, length);
    const double* row = x.span(r * length, length);
    const double scale = inverses[r];
    double product = 0;
    for (int64_t i = 0; i < length; ++i) {
      weight_sum[i] += grad[i] * row[i] * scale;
      grad[i] *= w[i];
      product += grad[i] * row[i] * scale / static_cast<double>(length);
    }
    for (int64_t i = 0; i < length; ++i) grad[i] = scale * (grad[i] - row[i] * scale * product);
  }
  store(grad_self, g);
  store(grad_weight, weight_sum);
}

// Channels are dimension 1: rows of all other dimensions.
Shape channelRowDims(const Tensor& self) {
  Shape dims;
  for (int64_t dim : everyDim(self)) {
    if (dim != 1) dims.push_back(dim);
  }
  return dims;
}

void blend(const Tensor* running, const Values<double>& now, double momentum) {
  if (running == nullptr) return;
  Values<double> values = load<double>(*running);
  for (size_t i = 0; i < values.size(); ++i) values[i] += momentum * (now[i] - values[i]);
  store(*running, values);
}

void BatchNorm(const Tensor& self, const Tensor* weight, const Tensor* bias,
               const Tensor* running_mean, const Tensor* running_variance, bool training,
               double momentum, double epsilon, const Tensor& out, const Tensor* saved_mean,
               const Tensor* saved_inverse) {
  Rows<double> rows = loadRows<double>(self, channelRowDims(self));
  const Values<double> w = valuesOr(weight, rows.count, 1), b = valuesOr(bias, rows.count, 0);
  const Values<double> old_mean = valuesOr(running_mean, rows.count, 0);
  const Values<double> old_variance = valuesOr(running_variance, rows.count, 1);
  Values<double> means, inverses, variances;
  for (int64_t c = 0; c < rows.count; ++c) {
    const Moments m = training ? momentsOf(rows.row(c), rows.length, epsilon)
                               : Moments{old_mean[c], 1 / std::sqrt(old_variance[c] + epsilon)};
    for (int64_t i = 0; i < rows.length; ++i) {
      rows.row(c)[i] = (rows.row(c)[i] - m.mean) * m.inverse_deviation * w[c] + b[c];
    }
    const double biased = 1 / (m.inverse_deviation * m.inverse_deviation) - epsilon;
    const double count = static_cast<double>(rows.length);
    variances.push_back(biased * count / (count - 1));  // the running variance is unbiased
    means.push_back(m.mean);
    inverses.push_back(m.inverse_deviation);
  }
  storeRows(out, channelRowDims(out), rows.values);
  if (!training) return;
  blend(running_mean, means, momentum);
  blend(running_variance, variances, momentum);
  storeOptional(saved_mean, means);
  storeOptional(saved_inverse, inverses);
}

void BatchNormBackward(const Tensor& gradient, const Tensor& self, const Tensor* weight,
                       const Tensor* running_mean, const Tensor* running_variance,
                       const Tensor* saved_mean, const Tensor* saved_inverse, bool training,
                       double epsilon, const BoolArray&, const Tensor* grad_self,
                       const Tensor* grad_weight, const Tensor* grad_bias) {
  Rows<double> g = loadRows<double>(gradient, channelRowDims(self));
  Rows<double> x = loadRows<double>(self, channelRowDims(self));
  if (g.length != x.length) {
    throw Error(kAclnnInvalidParam, "the gradient has another shape than the input");
  }
  const Values<double> w = valuesOr(weight, g.count, 1);
  const Values<double> means = valuesOr(training ? saved_mean : running_mean, g.count, 0);
  Values<double> inverses = valuesOr(training ? saved_inverse : running_variance, g.count, 1);
  Values<double> weight_sum(g.count, 0), bias_sum(g.count, 0);
  for (int64_t c = 0; c < g.count; ++c) {
    if (!training) inverses[c] = 1 / std::sqrt(inverses[c] + epsilon);
    for (int64_t i = 0; i < g.length; ++i) {
      double& normalized = x.row(c)[i];
      normalized = (normalized - means[c]) * inverses[c];
      weight_sum[c] += g.row(c)[i] * normalized;
      bias_sum[c] += g.row(c)[i];
      g.row(c)[i] *= training ? w[c] : w[c] * inverses[c];
    }
    if (training) backwardRow(g.row(c), x.row(c), g.length, inverses[c]);
  }
  if (grad_self != nullptr) storeRows(*grad_self, channelRowDims(self), g.values);
  storeOptional(grad_weight, weight_sum);
  storeOptional(grad_bias, bias_sum);
}

}  // namespace

ACLNN(LayerNorm, LayerNorm)
ACLNN(LayerNormBackward, LayerNormBackward)
ACLNN(RmsNorm, RmsNorm)
ACLNN(RmsNormGrad, RmsNormGrad)
ACLNN(BatchNorm, BatchNorm)
ACLNN(BatchNormBackward, BatchNormBackward)
