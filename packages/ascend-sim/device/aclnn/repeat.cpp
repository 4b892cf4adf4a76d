// SPDX-License-Identifier: Apache-2.0
// Repeating each element, and numbers written as one-hot rows.
#include "rows.h"

using namespace npusim;

namespace {

// times(i) says how often element i of each row stands in the result.
template <class Times>
void repeatElements(const Tensor& self, const Shape& dims, const Tensor& out, int64_t out_dim,
                    Times&& times) {
  withComputeType({&self}, [&](auto zero) {
    using T = decltype(zero);
    Rows<T> rows = loadRows<T>(self, dims);
    Values<T> repeated;
    const auto most = static_cast<size_t>(out.size());
    for (int64_t r = 0; r < rows.count; ++r) {
      for (int64_t i = 0; i < rows.length; ++i) {
        const auto count = static_cast<size_t>(times(i));  // a negative one is too large as well
        if (count > most - repeated.size()) {
          throw Error(kAclnnInvalidParam, "the repeats do not fit the output");
        }
        repeated.insert(repeated.end(), count, rows.row(r)[i]);
      }
    }
    storeRows(out, {out_dim}, repeated);
  });
}

void RepeatInterleaveIntWithDim(const Tensor& self, int64_t repeats, int64_t dim, int64_t,
                                const Tensor& out) {
  repeatElements(self, {dim}, out, dim, [=](int64_t) { return repeats; });
}
void RepeatInterleaveInt(const Tensor& self, int64_t repeats, int64_t, const Tensor& out) {
  repeatElements(self, everyDim(self), out, 0, [=](int64_t) { return repeats; });
}

auto timesFrom(const Tensor& repeats) {
  return [times = load<int64_t>(repeats)](int64_t i) {
    return times.at(times.size() == 1 ? 0 : i);
  };
}
void RepeatInterleaveWithDim(const Tensor& self, const Tensor& repeats, int64_t dim, int64_t,
                             const Tensor& out) {
  repeatElements(self, {dim}, out, dim, timesFrom(repeats));
}
void RepeatInterleave(const Tensor& self, const Tensor& repeats, int64_t, const Tensor& out) {
  repeatElements(self, everyDim(self), out, 0, timesFrom(repeats));
}

void OneHot(const Tensor& self, int depth, const Tensor& on, const Tensor& off, int64_t axis,
            const Tensor& out) {
  const Values<int64_t> wanted = load<int64_t>(self);
  Values<int64_t> values(out.size(), single<int64_t>(off));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] >= 0 && wanted[i] < depth) values[i * depth + wanted[i]] = single<int64_t>(on);
  }
  storeRows(out, {axis}, values);
}

}  // namespace

ACLNN(RepeatInterleave, RepeatInterleave)
ACLNN(RepeatInterleaveWithDim, RepeatInterleaveWithDim)
ACLNN(RepeatInterleaveInt, RepeatInterleaveInt)
ACLNN(RepeatInterleaveIntWithDim, RepeatInterleaveIntWithDim)
ACLNN(OneHot, OneHot)
