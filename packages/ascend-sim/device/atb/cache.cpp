// SPDX-License-Identifier: Apache-2.0
// The cache of keys and values, in blocks of tokens: [blocks, tokens of a block, heads, size], or in
// the NZ format [blocks, heads * size / lane, tokens of a block, lane].
#include <cstring>

#include "operation.h"

namespace atb {
namespace {

void store(const Rows& from, const Rows& cache, const Rows& slots, bool nz) {
  const size_t tokens = slots.count();
  if (tokens == 0) return;
  const size_t width = from.count() / tokens;
  const size_t block = cache.size(nz ? 2 : 1), lane = nz ? cache.size(3) : width;
  if (lane == 0 || width % lane != 0 || block == 0 || from.elementBytes() != cache.elementBytes()) {
    throw npusim::Error(npusim::kInvalidParam, "the tokens do not fit the cache");
  }
  for (size_t token = 0; token < tokens; ++token) {
    const int64_t slot = slots.integer(token);
    if (slot < 0) continue;  // a token that is only there to fill up the batch
    const size_t number = static_cast<size_t>(slot) / block, place = static_cast<size_t>(slot) % block;
    for (size_t part = 0; part < width / lane; ++part) {
      const size_t row = (number * (width / lane) + part) * block + place;
      std::memcpy(cache.bytes(row * lane, lane), from.bytes(token * width + part * lane, lane),
                  lane * from.elementBytes());
    }
  }
}

Description reshapeAndCache(const infer::ReshapeAndCacheParam& param) {
  using Param = infer::ReshapeAndCacheParam;
  requireSimulated(param.compressType == 0, "ReshapeAndCacheOperation with compression");
  requireSimulated(param.kvCacheCfg == Param::kBoth || param.kvCacheCfg == Param::kBothNz,
                   "ReshapeAndCacheOperation without values");
  const bool nz = param.kvCacheCfg == Param::kBothNz;
  return {"ReshapeAndCacheOperation", 5, 2, [nz](const Arguments& all) {
            const Rows slots = all.input(4);
            for (size_t i : {0, 1}) store(all.input(i), all.output(i), slots, nz);
          }};
}

}  // namespace
}  // namespace atb

NPUSIM_ATB_OPERATION(atb::infer::ReshapeAndCacheParam, atb::reshapeAndCache)
