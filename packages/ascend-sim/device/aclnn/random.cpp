// SPDX-License-Identifier: Apache-2.0
// Random numbers. Each element depends on seed, offset and its position only, so a seed repeats
// its numbers; they are not the numbers that the hardware draws from the same seed.
#include <algorithm>
#include <numeric>

#include "rows.h"

using namespace npusim;

namespace {

class Generator {
 public:
  Generator(int64_t seed, int64_t offset)
      : state_(mixed(static_cast<uint64_t>(seed)) ^ mixed(~static_cast<uint64_t>(offset))) {}

  uint64_t bits() { return mixed(state_ += 0x9e3779b97f4a7c15); }  // splitmix64
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * M_PI * uniform());
  }

 private:
  static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  uint64_t state_;
};

template <class Draw>
void drawInto(const Tensor& out, int64_t seed, int64_t offset, Draw&& draw) {
  Generator generator(seed, offset);
  Values<double> values(out.size());
  for (double& value : values) value = draw(generator);
  store(out, values);
}

void InplaceUniform(const Tensor& self, double from, double to, int64_t seed, int64_t offset) {
  // Rounding to a narrow type may reach `to`, which is outside the interval.
  const double limit = self.dtype == DataType::Double  ? to
                       : self.dtype == DataType::Float ? from + (to - from) * (1 - 0x1p-24)
                       : self.dtype == DataType::Half  ? from + (to - from) * (1 - 0x1p-11)
                                                       : from + (to - from) * (1 - 0x1p-8);
  drawInto(self, seed, offset,
           [=](Generator& g) { return std::min(limit, from + (to - from) * g.uniform()); });
}

void InplaceNormal(const Tensor& self, float mean, float deviation, int64_t seed, int64_t offset) {
  drawInto(self, seed, offset, [=](Generator& g) { return mean + deviation * g.normal(); });
}
void NormalFloatFloat(float mean, float deviation, int64_t seed, int64_t offset,
                      const Tensor& out) {
  InplaceNormal(out, mean, deviation, seed, offset);
}
void normal(const Values<double>& means, const Values<double>& deviations, int64_t seed,
            int64_t offset, const Tensor& out) {
  size_t at = 0;
  drawInto(out, seed, offset, [&](Generator& g) {
    const double value = means[at] + deviations[at] * g.normal();
    ++at;
    return value;
  });
}
void NormalTensorTensor(const Tensor& mean, const Tensor& deviation, int64_t seed, int64_t offset,
                        const Tensor& out) {
  normal(load<double>(mean, out.shape), load<double>(deviation, out.shape), seed, offset, out);
}
void NormalTensorFloat(const Tensor& mean, float deviation, int64_t seed, int64_t offset,
                       const Tensor& out) {
  Values<double> same(out.size(), deviation);
  normal(load<double>(mean, out.shape), same, seed, offset, out);
}
void NormalFloatTensor(float mean, const Tensor& deviation, int64_t seed, int64_t offset,
                       const Tensor& out) {
  Values<double> same(out.size(), mean);
  normal(same, load<double>(deviation, out.shape), seed, offset, out);
}

void InplaceRandom(const Tensor& self, int64_t from, int64_t to, int64_t seed, int64_t offset) {
  Generator generator(seed, offset);
  Values<int64_t> values(self.size());
  const uint64_t span = std::max<uint64_t>(1, static_cast<uint64_t>(to) - from);
  for (int64_t& value : values) value = from + static_cast<int64_t>(generator.bits() % span);
  store(self, values);
}

void InplaceBernoulli(const Tensor& self, const Scalar& p, int64_t seed, int64_t offset) {
  drawInto(self, seed, offset,
           [p = p.as<double>()](Generator& g) { return g.uniform() < p ? 1.0 : 0.0; });
}
void InplaceBernoulliTensor(const Tensor& self, const Tensor& p, int64_t seed, int64_t offset) {
  Values<double> chances = load<double>(p, self.shape);
  size_t at = 0;
  drawInto(self, seed, offset,
           [&](Generator& g) { return g.uniform() < chances[at++] ? 1.0 : 0.0; });
}

void Randperm(int64_t n, int64_t seed, int64_t offset, const Tensor& out) {
  Generator generator(seed, offset);
  Values<int64_t> values(out.size());
  if (n != out.size()) throw Error(kAclnnInvalidParam, "the output has another size than n");
  std::iota(values.begin(), values.end(), 0);
  for (int64_t i = n; i > 1; --i) {
    std::swap(values[i - 1], values[generator.bits() % static_cast<uint64_t>(i)]);
  }
  store(out, values);
}

void Multinomial(const Tensor& self, int64_t samples, bool replacement, int64_t seed,
                 int64_t offset, const Tensor& out) {
  Generator generator(seed, offset);
  Rows<double> weights = loadRows<double>(self, {-1});
  Values<int64_t> drawn;
  if (weights.length == 0 || samples < 0 || product({weights.count, samples}) != out.size()) {
    throw Error(kAclnnInvalidParam, "the number of samples does not fit the output");
  }
  for (int64_t r = 0; r < weights.count; ++r) {
    double* row = weights.row(r);
    for (int64_t s = 0; s < samples; ++s) {
      double left = generator.uniform() * std::accumulate(row, row + weights.length, 0.0);
      int64_t at = 0;
      while (at + 1 < weights.length && (left -= row[at]) >= 0) ++at;
      drawn.push_back(at);
      if (!replacement) row[at] = 0;
    }
  }
  store(out, drawn);
}

// The mask has one bit for each element: 1 keeps it, just where InplaceBernoulli of 1 - p gives 1.
void DropoutGenMaskV2(const IntArray&, double p, int64_t seed, int64_t offset, int,
                      const Tensor& mask) {
  Generator generator(seed, offset);
  Values<int64_t> bytes(mask.size(), 0);
  for (int64_t& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) byte |= int64_t{generator.uniform() < 1 - p} << bit;
  }
  store(mask, bytes);
}
void DropoutGenMask(const IntArray& shape, double p, int64_t seed, int64_t offset,
                    const Tensor& mask) {
  DropoutGenMaskV2(shape, p, seed, offset, 0, mask);
}
void DropoutDoMask(const Tensor& self, const Tensor& mask, double p, const Tensor& out) {
  Values<double> values = load<double>(self);
  Values<int64_t> bytes = load<int64_t>(mask);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool keep = p < 1 && ((bytes.at(i / 8) >> (i % 8)) & 1);
    values[i] = keep ? values[i] / (1 - p) : 0;
  }
  store(out, values);
}

// In a graph, seed and offset lie on the device, where they may differ at each replay; the number
// is how much an operator adds to the offset.
int64_t only(const Tensor& tensor) { return load<int64_t>(tensor).at(0); }

void InplaceUniformTensor(const Tensor& self, double from, double to, const Tensor& seed,
                          const Tensor& offset, int64_t more) {
  InplaceUniform(self, from, to, only(seed), only(offset) + more);
}
void InplaceNormalTensor(const Tensor& self, float mean, float deviation, const Tensor& seed,
                         const Tensor& offset, int64_t more) {
  InplaceNormal(self, mean, deviation, only(seed), only(offset) + more);
}
void InplaceRandomTensor(const Tensor& self, int64_t from, int64_t to, const Tensor& seed,
                         const Tensor& offset, int64_t more) {
  InplaceRandom(self, from, to, only(seed), only(offset) + more);
}
void MultinomialTensor(const Tensor& self, int64_t samples, bool replacement, const Tensor& seed,
                       const Tensor& offset, int64_t more, const Tensor& out) {
  Multinomial(self, samples, replacement, only(seed), only(offset) + more, out);
}
void DropoutGenMaskV2Tensor(const IntArray& shape, double p, const Tensor& seed,
                            const Tensor& offset, int64_t more, int type, const Tensor& mask) {
  DropoutGenMaskV2(shape, p, only(seed), only(offset) + more, type, mask);
}

}  // namespace

ACLNN(InplaceUniform, InplaceUniform)
ACLNN(InplaceUniformTensor, InplaceUniformTensor)
ACLNN(InplaceNormalTensor, InplaceNormalTensor)
ACLNN(InplaceRandomTensor, InplaceRandomTensor)
ACLNN(MultinomialTensor, MultinomialTensor)
ACLNN(DropoutGenMaskV2Tensor, DropoutGenMaskV2Tensor)
ACLNN(InplaceNormal, InplaceNormal)
ACLNN(NormalFloatFloat, NormalFloatFloat)
ACLNN(NormalTensorTensor, NormalTensorTensor)
ACLNN(NormalTensorFloat, NormalTensorFloat)
ACLNN(NormalFloatTensor, NormalFloatTensor)
ACLNN(InplaceRandom, InplaceRandom)
ACLNN(InplaceBernoulli, InplaceBernoulli)
ACLNN(InplaceBernoulliTensor, InplaceBernoulliTensor)
ACLNN(Randperm, Randperm)
ACLNN(Multinomial, Multinomial)
ACLNN(DropoutGenMask, DropoutGenMask)
ACLNN(DropoutGenMaskV2, DropoutGenMaskV2)
ACLNN(DropoutDoMask, DropoutDoMask)
