// SPDX-License-Identifier: Apache-2.0
// Activation functions and their derivatives. A backward operator takes (gradient, input or
// output, ..., result).
#include "pointwise.h"

using namespace npusim;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double normalDensity(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }
double normalShare(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }
double geluInner(double x) { return std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }

double gelu(double x) { return x * normalShare(x); }
double geluSlope(double x) { return normalShare(x) + x * normalDensity(x); }
double geluTanh(double x) { return x / 2 * (1 + std::tanh(geluInner(x))); }
double geluTanhSlope(double x) {
  const double t = std::tanh(geluInner(x));
  const double inner_slope = std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
  return (1 + t) / 2 + x / 2 * (1 - t * t) * inner_slope;
}
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double mish(double x) { return x * std::tanh(softplus(x)); }
double mishSlope(double x) {
  const double t = std::tanh(softplus(x));
  return t + x * (1 - t * t) * sigmoid(x);
}
double silu(double x) { return x * sigmoid(x); }
double siluSlope(double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }
double fastGelu(double x) { return x * sigmoid(1.702 * x); }
double fastGeluSlope(double x) {
  const double share = sigmoid(1.702 * x);
  return share + 1.702 * x * share * (1 - share);
}
double relu(double x) { return x < 0 ? 0 : x; }
double hardsigmoid(double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }
double hardsigmoidSlope(double x) { return x > -3 && x < 3 ? 1.0 / 6 : 0; }
double hardswish(double x) { return x * hardsigmoid(x); }
double hardswishSlope(double x) { return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5; }
double sigmoidSlope(double y) { return y * (1 - y); }
double tanhSlope(double y) { return 1 - y * y; }
double logSigmoid(double x) { return -softplus(-x); }
double selu(double x) {
  return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
}

template <double (*function)(double)>
void forward(const Tensor& self, const Tensor& out) {
  map1<double>(out, self, function);
}
template <double (*function)(double)>
void inplace(const Tensor& self) {
  map1<double>(self, self, function);
}
template <double (*slope)(double)>
void backward(const Tensor& gradient, const Tensor& at, const Tensor& out) {
  map2<double>(out, gradient, at, [](double g, double x) { return g * slope(x); });
}

void GeluV2(const Tensor& self, int64_t approximate, const Tensor& out) {
  map1<double>(out, self, approximate ? geluTanh : gelu);
}
void GeluBackwardV2(const Tensor& gradient, const Tensor& self, const char* approximate,
                    const Tensor& out) {
  const bool tanh = std::string(approximate) == "tanh";
  map2<double>(out, gradient, self,
               [=](double g, double x) { return g * (tanh ? geluTanhSlope(x) : geluSlope(x)); });
}

void Threshold(const Tensor& self, const Scalar& threshold, const Scalar& value,
               const Tensor& out) {
  map1<double>(out, self, [t = threshold.as<double>(), v = value.as<double>()](double x) {
    return x <= t ? v : x;
  });
}
void InplaceThreshold(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  Threshold(self, threshold, value, self);
}
void ThresholdBackward(const Tensor& gradient, const Tensor& self, const Scalar& threshold,
                       const Tensor& out) {
  map2<double>(out, gradient, self,
               [t = threshold.as<double>()](double g, double x) { return x <= t ? 0 : g; });
}

void LeakyRelu(const Tensor& self, const Scalar& slope, const Tensor& out) {
  map1<double>(out, self, [s = slope.as<double>()](double x) { return x > 0 ? x : s * x; });
}
void InplaceLeakyRelu(const Tensor& self, const Scalar& slope) { LeakyRelu(self, slope, self); }
void LeakyReluBackward(const Tensor& gradient, const Tensor& self, const Scalar& slope, bool,
                       const Tensor& out) {
  map2<double>(out, gradient, self,
               [s = slope.as<double>()](double g, double x) { return x > 0 ? g : s * g; });
}

void Elu(const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
         const Tensor& out) {
  const double a = alpha.as<double>(), s = scale.as<double>(), in = input_scale.as<double>();
  map1<double>(out, self, [=](double x) { return s * (x > 0 ? x : a * std::expm1(in * x)); });
}
void EluBackward(const Tensor& gradient, const Scalar& alpha, const Scalar& scale,
                 const Scalar& input_scale, bool is_result, const Tensor& self, const Tensor& out) {
  const double a = alpha.as<double>(), s = scale.as<double>(), in = input_scale.as<double>();
  map2<double>(out, gradient, self, [=](double g, double x) {
    if (x > 0) return g * s;
    return is_result ? g * in * (x + a * s) : g * in * a * s * std::exp(in * x);
  });
}

void Softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold, const Tensor& out) {
  map1<double>(out, self, [b = beta.as<double>(), t = threshold.as<double>()](double x) {
    return b * x > t ? x : softplus(b * x) / b;
  });
}
void SoftplusBackward(const Tensor& gradient, const Tensor& self, const Scalar& beta,
                      const Scalar& threshold, const Tensor& out) {
  const double b = beta.as<double>(), t = threshold.as<double>();
  map2<double>(out, gradient, self,
               [=](double g, double x) { return b * x > t ? g : g * sigmoid(b * x); });
}

void Hardtanh(const Tensor& self, const Scalar& low, const Scalar& high, const Tensor& out) {
  map1<double>(out, self, [l = low.as<double>(), h = high.as<double>()](double x) {
    return std::min(std::max(x, l), h);
  });
}
void InplaceHardtanh(const Tensor& self, const Scalar& low, const Scalar& high) {
  Hardtanh(self, low, high, self);
}
void HardtanhBackward(const Tensor& gradient, const Tensor& self, const Scalar& low,
                      const Scalar& high, const Tensor& out) {
  map2<double>(out, gradient, self, [l = low.as<double>(), h = high.as<double>()](
                                        double g, double x) { return x <= l || x >= h ? 0 : g; });
}

void Celu(const Tensor& self, const Scalar& alpha, const Tensor& out) {
  map1<double>(out, self,
               [a = alpha.as<double>()](double x) { return x > 0 ? x : a * std::expm1(x / a); });
}
void InplaceCelu(const Tensor& self, const Scalar& alpha) { Celu(self, alpha, self); }

void LogSigmoidForward(const Tensor& self, const Tensor& out, const Tensor&) {
  forward<logSigmoid>(self, out);
}
void LogSigmoidBackward(const Tensor& gradient, const Tensor& self, const Tensor&,
                        const Tensor& out) {
  map2<double>(out, gradient, self, [](double g, double x) { return g * sigmoid(-x); });
}

}  // namespace

ACLNN(Relu, forward<relu>)
ACLNN(InplaceRelu, inplace<relu>)
ACLNN(Sigmoid, forward<sigmoid>)
ACLNN(InplaceSigmoid, inplace<sigmoid>)
ACLNN(SigmoidBackward, backward<sigmoidSlope>)
ACLNN(TanhBackward, backward<tanhSlope>)
ACLNN(Silu, forward<silu>)
ACLNN(SiluBackward, backward<siluSlope>)
ACLNN(Mish, forward<mish>)
ACLNN(InplaceMish, inplace<mish>)
ACLNN(MishBackward, backward<mishSlope>)
ACLNN(Gelu, forward<gelu>)
ACLNN(GeluBackward, backward<geluSlope>)
ACLNN(FastGelu, forward<fastGelu>)
ACLNN(FastGeluBackward, backward<fastGeluSlope>)
ACLNN(GeluV2, GeluV2)
ACLNN(GeluBackwardV2, GeluBackwardV2)
ACLNN(Hardsigmoid, forward<hardsigmoid>)
ACLNN(InplaceHardsigmoid, inplace<hardsigmoid>)
ACLNN(HardsigmoidBackward, backward<hardsigmoidSlope>)
ACLNN(Hardswish, forward<hardswish>)
ACLNN(InplaceHardswish, inplace<hardswish>)
ACLNN(HardswishBackward, backward<hardswishSlope>)
ACLNN(Selu, forward<selu>)
ACLNN(InplaceSelu, inplace<selu>)
ACLNN(Threshold, Threshold)
ACLNN(InplaceThreshold, InplaceThreshold)
ACLNN(ThresholdBackward, ThresholdBackward)
ACLNN(LeakyRelu, LeakyRelu)
ACLNN(InplaceLeakyRelu, InplaceLeakyRelu)
ACLNN(LeakyReluBackward, LeakyReluBackward)
ACLNN(Elu, Elu)
ACLNN(EluBackward, EluBackward)
ACLNN(Softplus, Softplus)
ACLNN(SoftplusBackward, SoftplusBackward)
ACLNN(Hardtanh, Hardtanh)
ACLNN(InplaceHardtanh, InplaceHardtanh)
ACLNN(HardtanhBackward, HardtanhBackward)
ACLNN(Celu, Celu)
ACLNN(InplaceCelu, InplaceCelu)
ACLNN(LogSigmoid, forward<logSigmoid>)
ACLNN(LogSigmoidForward, LogSigmoidForward)
ACLNN(LogSigmoidBackward, LogSigmoidBackward)
