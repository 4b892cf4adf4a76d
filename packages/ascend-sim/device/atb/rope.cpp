// SPDX-License-Identifier: Apache-2.0
// Rotary embedding: x * cos + rotated(x) * sin (Su et al., RoFormer, 2021).
#include "operation.h"

namespace atb {
namespace {

// The coefficient divides each head in pieces; the halves of a piece are rotated. So 2 rotates the
// halves of the head, and the size of the head rotates neighbours.
Row rotated(const Row& x, const Row& cos, const Row& sin, size_t coefficient) {
  const size_t size = x.size(), half = size / coefficient;
  Row out(size);
  for (size_t i = 0; i < size; ++i) {
    const bool first = i % (2 * half) < half;
    const double other = first ? -x[i + half] : x[i - half];
    out[i] = x[i] * cos[i] + other * sin[i];
  }
  return out;
}

void rotate(const Rows& from, const Rows& to, const Rows& cos, const Rows& sin, size_t coefficient) {
  const size_t size = cos.last(), tokens = cos.size(0);
  if (size == 0 || size % coefficient != 0 || coefficient % 2 != 0 ||
      from.count() % (tokens * size) != 0) {
    throw npusim::Error(npusim::kInvalidParam, "the sizes of heads, cos and sin do not fit");
  }
  const size_t heads = from.count() / (tokens * size);
  for (size_t token = 0; token < tokens; ++token) {
    const Row cosines = cos.read(token * size, size), sines = sin.read(token * size, size);
    for (size_t head = 0; head < heads; ++head) {
      const size_t first = (token * heads + head) * size;
      to.write(first, rotated(from.read(first, size), cosines, sines, coefficient));
    }
  }
}

Description rope(const infer::RopeParam& param) {
  requireSimulated(param.rotaryCoeff > 0, "RopeOperation with this rotaryCoeff");
  const auto coefficient = static_cast<size_t>(param.rotaryCoeff);
  return {"RopeOperation", 5, 2, [coefficient](const Arguments& all) {
            const Rows cos = all.input(2), sin = all.input(3);
            if (cos.count() == 0) return;
            for (size_t i : {0, 1}) rotate(all.input(i), all.output(i), cos, sin, coefficient);
          }};
}

}  // namespace
}  // namespace atb

NPUSIM_ATB_OPERATION(atb::infer::RopeParam, atb::rope)
