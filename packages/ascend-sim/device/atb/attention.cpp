// SPDX-License-Identifier: Apache-2.0
// softmax(scale * q * k + mask) * v of one token and head at a time, in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "operation.h"

namespace atb {
namespace {

double product(const Row& a, const Row& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// `key` and `value` give the row of a token of the context; `mask` what is added to its score.
template <class Key, class Value, class Mask>
Row attend(const Row& query, size_t context, double scale, Key key, Value value, Mask mask) {
  Row scores(context);
  for (size_t i = 0; i < context; ++i) scores[i] = scale * product(query, key(i)) + mask(i);
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (double each : scores) largest = std::max(largest, each);
  Row out;
  for (size_t i = 0; i < context; ++i) {
    const double weight = std::exp(scores[i] - largest);
    const Row row = value(i);
    out.resize(row.size());
    for (size_t j = 0; j < row.size(); ++j) out[j] += weight * row[j];
    sum += weight;
  }
  for (double& each : out) each /= sum;
  return out;
}

struct Heads {
  size_t all, keys;
  double scale;

  Heads(int32_t heads, int32_t keyHeads, float scale) : scale(scale) {
    const int32_t own = keyHeads == 0 ? heads : keyHeads;
    if (heads <= 0 || own <= 0 || heads % own != 0) {
      throw npusim::Error(npusim::kInvalidParam, "the numbers of heads do not fit");
    }
    all = static_cast<size_t>(heads);
    keys = static_cast<size_t>(own);
  }
  size_t keyOf(size_t head) const { return head / (all / keys); }
};

// A sequence of `batch` whose keys and values are in the blocks that a row of `table` names.
struct Blocks {
  Rows keys, values, table;

  Row row(const Rows& cache, size_t sequence, size_t token, size_t head, size_t heads) const {
    const size_t block = cache.size(1), size = cache.count() / (cache.size(0) * block * heads);
    const int64_t number = table.integer(sequence * table.last() + token / block);
    if (number < 0) throw npusim::Error(npusim::kInvalidParam, "the number of a block is negative");
    const size_t place = static_cast<size_t>(number) * block + token % block;
    return cache.read((place * heads + head) * size, size);
  }
};

void pagedAttention(const Arguments& all, const Heads& heads) {
  const Rows query = all.input(0), lengths = all.input(4), out = all.output(0);
  const Blocks blocks{all.input(1), all.input(2), all.input(3)};
  const size_t tokens = query.size(0);
  if (tokens == 0) return;
  const size_t size = query.count() / (tokens * heads.all);
  const size_t width = out.count() / (tokens * heads.all);
  for (size_t token = 0; token < tokens; ++token) {
    const auto context = static_cast<size_t>(std::max<int64_t>(0, lengths.integer(token)));
    for (size_t head = 0; head < heads.all && context > 0; ++head) {
      const auto of = [&](const Rows& cache) {
        return [&, head](size_t i) {
          return blocks.row(cache, token, i, heads.keyOf(head), heads.keys);
        };
      };
      const size_t place = token * heads.all + head;
      const Row row = query.read(place * size, size);
      const auto unmasked = [](size_t) { return 0.0; };
      out.write(place * width,
                attend(row, context, heads.scale, of(blocks.keys), of(blocks.values), unmasked));
    }
  }
}

Description paged(const infer::PagedAttentionParam& param) {
  requireSimulated(param.maskType == 0 && param.quantType == 0 && param.compressType == 0 &&
                       param.calcType == 0 && param.scaleType == 0,
                   "PagedAttentionOperation with a mask, quantization or compression");
  const Heads heads(param.headNum, param.kvHeadNum, param.qkScale);
  return {"PagedAttentionOperation", 5, 1,
          [heads](const Arguments& all) { pagedAttention(all, heads); }};
}

// In bfloat16 a 1 stands for a place that is hidden; in other types the mask is added.
double added(const Tensor& mask, const Rows& rows, size_t index) {
  const double value = rows.read(index, 1)[0];
  return mask.desc.dtype == DataType::Bfloat16 && value > 0 ? -10000 * value : value;
}

void selfAttention(const Arguments& all, const Heads& heads, bool masked) {
  const Rows query = all.input(0), keys = all.input(1), values = all.input(2), out = all.output(0);
  const Rows lengths = all.input(masked ? 4 : 3), mask = all.input(masked ? 3 : 0);
  const size_t tokens = query.size(0);
  if (tokens == 0) return;
  const size_t size = query.count() / (tokens * heads.all);
  const size_t width = values.count() / (tokens * heads.keys);
  size_t first = 0;
  for (size_t sequence = 0; sequence < lengths.count(); ++sequence) {
    const auto length = static_cast<size_t>(std::max<int64_t>(0, lengths.integer(sequence)));
    for (size_t i = 0; i < length * heads.all; ++i) {
      const size_t token = i / heads.all, head = i % heads.all;
      const auto row = [&](const Rows& from, size_t each, size_t columns) {
        return from.read(((first + each) * heads.keys + heads.keyOf(head)) * columns, columns);
      };
      const size_t place = (first + token) * heads.all + head;
      out.write(place * width,
                attend(
                    query.read(place * size, size), length, heads.scale,
                    [&](size_t each) { return row(keys, each, size); },
                    [&](size_t each) { return row(values, each, width); },
                    [&](size_t each) {
                      return masked ? added(all.inputs[3], mask, token * mask.last() + each) : 0;
                    }));
    }
    first += length;
  }
}

Description self(const infer::SelfAttentionParam& param) {
  using Param = infer::SelfAttentionParam;
  const bool masked = param.maskType == Param::kMask;
  requireSimulated(param.calcType == Param::kPagedEncoder && param.quantType == 0 &&
                       param.clampType == 0 && param.scaleType == 0 && param.kvcacheCfg == 0 &&
                       (masked || param.maskType == Param::kNoMask),
                   "SelfAttentionOperation other than of whole prompts, with a mask or without");
  const Heads heads(param.headNum, param.kvHeadNum, param.qScale * param.qkScale);
  return {"SelfAttentionOperation", masked ? 5u : 4u, 1,
          [heads, masked](const Arguments& all) { selfAttention(all, heads, masked); }};
}

}  // namespace
}  // namespace atb

NPUSIM_ATB_OPERATION(atb::infer::PagedAttentionParam, atb::paged)
NPUSIM_ATB_OPERATION(atb::infer::SelfAttentionParam, atb::self)
