// SPDX-License-Identifier: Apache-2.0
// Fused attention, forward and backward, for the layouts BNSD, BSND, BSH and SBH.
#include "entry.h"

using namespace npusim;

namespace {

// A view with the dimensions batch, head, position, feature, whatever the layout.
Tensor asHeads(const Tensor& tensor, const std::string& layout, int64_t heads) {
  if (heads < 1) throw Error(kAclnnInvalidParam, "attention needs one head at least");
  Tensor view = tensor;
  auto& shape = view.shape;
  auto& strides = view.strides;
  if (layout == "BSH" || layout == "SBH") {
    const int64_t features = shape.at(2) / heads;
    if (features * heads != shape[2] || shape.size() != 3) {
      throw Error(kAclnnInvalidParam, "the features of attention do not divide into its heads");
    }
    shape = {shape[0], shape[1], heads, features};
    strides = {strides[0], strides[1], features * strides[2], strides[2]};
    if (layout == "SBH") std::swap(shape[0], shape[1]), std::swap(strides[0], strides[1]);
  } else if (layout != "BSND" && layout != "BNSD") {
    throw Error(kAclnnInvalidParam, "attention layout " + layout + " is not simulated");
  }
  if (layout != "BNSD") std::swap(shape[1], shape[2]), std::swap(strides[1], strides[2]);
  return view;
}

enum SparseMode { kMask = 0, kAllMask = 1, kCausal = 2, kCausalFromEnd = 3, kBand = 4 };

struct Options {
  double scale, keep;
  int64_t before, after, mode;
};

class Attention {
 public:
  Attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor* bias,
            const Tensor* dropped, const Tensor* mask, int64_t heads, const std::string& layout,
            const Options& options)
      : options_(options) {
    const Tensor q = asHeads(query, layout, heads);
    const int64_t features = q.shape[3];
    const bool merged = layout == "BSH" || layout == "SBH";
    if (features == 0) throw Error(kAclnnInvalidParam, "attention on no features");
    key_heads_ = merged ? key.shape[2] / features : asHeads(key, layout, heads).shape[1];
    const Tensor k = asHeads(key, layout, key_heads_), v = asHeads(value, layout, key_heads_);
    if (q.shape[1] != heads) {
      throw Error(kAclnnInvalidParam, "attention has another number of heads");
    }
    batch_ = q.shape[0], heads_ = heads, rows_ = q.shape[2], columns_ = k.shape[2];
    depth_ = features, width_ = v.shape[3];
    q_ = load<double>(q), k_ = load<double>(k), v_ = load<double>(v);
    const Shape scores = {batch_, heads_, rows_, columns_};
    if (bias != nullptr) bias_ = load<double>(*bias, scores);
    if (dropped != nullptr && options.keep < 1) keep_bits_ = load<int64_t>(*dropped);
    if (mask != nullptr && options.mode <= kAllMask) mask_ = load<int64_t>(*mask, scores);
  }

  int64_t lines() const { return batch_ * heads_ * rows_; }

  // The probabilities of one line (batch, head, row), and what it was shifted and divided by.
  Values<double> probabilities(int64_t line, double& top, double& sum) const {
    Values<double> p(columns_);
    top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < columns_; ++j) {
      double score = 0;
      for (int64_t d = 0; d < depth_; ++d) score += q_[line * depth_ + d] * k(line, j)[d];
      score = score * options_.scale + (bias_.empty() ? 0 : bias_[line * columns_ + j]);
      p[j] = visible(line, j) ? score : -INFINITY;
      top = std::max(top, p[j]);
    }
    for (double& x : p) sum += x = top == -INFINITY ? 0 : std::exp(x - top);
    for (double& x : p) x = sum == 0 ? 0 : x / sum;
    return p;
  }

  double kept(int64_t line, int64_t j) const {
    if (keep_bits_.empty()) return 1;
    const int64_t bit = line * columns_ + j;
    return (keep_bits_.at(bit / 8) >> (bit % 8)) & 1 ? 1 / options_.keep : 0;
  }

  void addOutput(int64_t line, const Values<double>& p, Values<double>& out) const {
    for (int64_t j = 0; j < columns_; ++j) {
      const double weight = p[j] * kept(line, j);
      for (int64_t d = 0; d < width_; ++d) out[line * width_ + d] += weight * v(line, j)[d];
    }
  }

  struct Gradients {
    Values<double> query, key, value;
  };

  Gradients backward(const Values<double>& incoming) const {
    Gradients g{Values<double>(q_.size()), Values<double>(k_.size()),
                Values<double>(v_.size())};
    for (int64_t line = 0; line < lines(); ++line) {
      double top, sum, mean = 0;
      const Values<double> p = probabilities(line, top, sum);
      const double* dy = incoming.span(line * width_, width_);
      Values<double> dp(columns_, 0);
      for (int64_t j = 0; j < columns_; ++j) {
        const double keep = kept(line, j);
        for (int64_t d = 0; d < width_; ++d) {
          dp[j] += keep * dy[d] * v(line, j)[d];
          g.value[keyRow(line, j) * width_ + d] += keep * p[j] * dy[d];
        }
        mean += p[j] * dp[j];
      }
      for (int64_t j = 0; j < columns_; ++j) {
        const double slope = p[j] * (dp[j] - mean) * options_.scale;
        for (int64_t d = 0; d < depth_; ++d) {
          g.query[line * depth_ + d] += slope * k(line, j)[d];
          g.key[keyRow(line, j) * depth_ + d] += slope * q_[line * depth_ + d];
        }
      }
    }
    return g;
  }

  int64_t keyHeads() const { return key_heads_; }

 private:
  int64_t keyRow(int64_t line, int64_t j) const {
    const int64_t head = line / rows_ % heads_, batch = line / rows_ / heads_;
    return (batch * key_heads_ + head * key_heads_ / heads_) * columns_ + j;
  }
  const double* k(int64_t line, int64_t j) const {
    return k_.span(keyRow(line, j) * depth_, depth_);
  }
  const double* v(int64_t line, int64_t j) const {
    return v_.span(keyRow(line, j) * width_, width_);
  }

  bool visible(int64_t line, int64_t j) const {
    const int64_t ahead = j - line % rows_, from_end = ahead - (columns_ - rows_);
    switch (options_.mode) {
      case kCausal: return ahead <= 0;
      case kCausalFromEnd: return from_end <= 0;
      case kBand: return from_end <= options_.after && -from_end <= options_.before;
      default: return mask_.empty() || mask_[line * columns_ + j] == 0;
    }
  }

  Options options_;
  int64_t batch_, heads_, key_heads_, rows_, columns_, depth_, width_;
  Values<double> q_, k_, v_, bias_;
  Values<int64_t> mask_, keep_bits_;
};

// The saved maximum and sum are repeated in the last dimension, as the hardware does.
void storeSaved(const Tensor& out, const Values<double>& values) {
  if (out.size() == 0 || values.empty()) return;
  const size_t copies = static_cast<size_t>(out.size()) / values.size();
  Values<double> repeated;
  for (double value : values) repeated.insert(repeated.end(), copies, value);
  store(out, repeated);
}

void FlashAttentionScore(const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor* bias, const Tensor* dropped, const Tensor*,
                         const Tensor* mask, const IntArray*, double scale, double keep,
                         int64_t before, int64_t after, int64_t heads, const char* layout, int64_t,
                         int64_t mode, const Tensor& maximum, const Tensor& divisor, const Tensor*,
                         const Tensor& out) {
  const Attention attention(query, key, value, bias, dropped, mask, heads, layout,
                            {scale, keep, before, after, mode});
  Values<double> result(out.size(), 0), tops(attention.lines()), sums(attention.lines());
  for (int64_t line = 0; line < attention.lines(); ++line) {
    attention.addOutput(line, attention.probabilities(line, tops[line], sums[line]),
                        result);
  }
  store(asHeads(out, layout, heads), result);
  storeSaved(maximum, tops);
  storeSaved(divisor, sums);
}

void FlashAttentionScoreGrad(const Tensor& query, const Tensor& key, const Tensor& value,
                             const Tensor& gradient, const Tensor* bias, const Tensor* dropped,
                             const Tensor*, const Tensor* mask, const Tensor*, const Tensor*,
                             const Tensor*, const Tensor*, const IntArray*, double scale,
                             double keep, int64_t before, int64_t after, int64_t heads,
                             const char* layout, int64_t, int64_t mode, const Tensor& grad_query,
                             const Tensor& grad_key, const Tensor& grad_value, const Tensor*) {
  const Attention attention(query, key, value, bias, dropped, mask, heads, layout,
                            {scale, keep, before, after, mode});
  const auto result = attention.backward(load<double>(asHeads(gradient, layout, heads)));
  store(asHeads(grad_query, layout, heads), result.query);
  store(asHeads(grad_key, layout, attention.keyHeads()), result.key);
  store(asHeads(grad_value, layout, attention.keyHeads()), result.value);
}

}  // namespace

ACLNN(FlashAttentionScore, FlashAttentionScore)
ACLNN(FlashAttentionScoreGrad, FlashAttentionScoreGrad)
