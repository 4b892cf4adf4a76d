// SPDX-License-Identifier: Apache-2.0
// exp(x) = 2^n exp(r) with |r| <= ln(2) / 2, and exp(r) by its Taylor polynomial: what compilers
// turn into instructions for several numbers, as they cannot do with std::exp.
#include "exponential.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "wide.h"

namespace npusim {
namespace {

constexpr int64_t kBlock = 64;
// Between these the result is a normal number, and 2^n can be made of its bits.
constexpr double kLowest = -708, kHighest = 709;

[[gnu::always_inline]] inline double exponential(double x) {
  constexpr double kInverse[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                 1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                                 1.0 / 120,        1.0 / 24,        1.0 / 6,        0.5,
                                 1,                1};
  // Added to a number it leaves the nearest whole one in the lowest bits.
  constexpr double kShift = 0x1.8p52;
  // ln(2) in two parts, the first of which has so few digits that its product with n is exact.
  constexpr double kHigh = 0x1.62e42fefa0000p-1, kLow = 0x1.cf79abc9e3b39p-40;
  const double shifted = x * M_LOG2E + kShift, whole = shifted - kShift;
  const double rest = (x - whole * kHigh) - whole * kLow;
  double sum = kInverse[0];
  for (int i = 1; i < 14; ++i) sum = sum * rest + kInverse[i];
  int64_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 1023) << 52;
  double power;
  std::memcpy(&power, &bits, sizeof power);
  return sum * power;
}

// Returns how many of the results are wrong, as their numbers lie outside of those limits.
WIDE("avx512f", "fma")
int64_t block(const double* __restrict values, double* __restrict results, int64_t count) {
  int64_t outside = 0;
  for (int64_t i = 0; i < count; ++i) {
    outside += !((values[i] > kLowest) & (values[i] < kHighest));
    results[i] = exponential(values[i]);
  }
  return outside;
}

}  // namespace

void exponentials(double* values, int64_t count) {
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t here = std::min(kBlock, count - at);
    double* from = values + at;
    double results[kBlock];
    if (block(from, results, here) == 0) {
      std::copy_n(results, here, from);
    } else {
      std::transform(from, from + here, from, [](double x) { return std::exp(x); });
    }
  }
}

}  // namespace npusim
