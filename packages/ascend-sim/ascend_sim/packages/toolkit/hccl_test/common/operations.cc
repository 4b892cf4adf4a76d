// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

#include <vector>

#include "cann.h"

namespace hccl_test {
namespace {

int typeOf(const Case& c) { return c.options->type->code; }

int alltoallv(const Case& c) {
  const std::vector<uint64_t> counts(c.ranks, c.block);
  std::vector<uint64_t> places;
  for (uint32_t rank = 0; rank < c.ranks; ++rank) places.push_back(rank * c.block);
  return HcclAlltoAllV(c.send, counts.data(), places.data(), typeOf(c), c.receive, counts.data(),
                       places.data(), typeOf(c), c.comm, c.stream);
}

double ofAll(const Case& c, uint64_t index) {
  return reduced(c.ranks, index, c.options->reduction);
}

double ofEachForThis(const Case& c, uint64_t index) {
  return sentBy(static_cast<uint32_t>(index / c.block), c.rank * c.block + index % c.block);
}

const Operation kOperations[] = {
    {"all_gather", false, true, false, false, false,
     [](const Case& c) {
       return HcclAllGather(c.send, c.receive, c.block, typeOf(c), c.comm, c.stream);
     },
     [](const Case& c, uint64_t index) {
       return sentBy(static_cast<uint32_t>(index / c.block), index % c.block);
     }},
    {"all_reduce", false, false, true, false, false,
     [](const Case& c) {
       return HcclAllReduce(c.send, c.receive, c.block, typeOf(c), c.options->reduction, c.comm,
                            c.stream);
     },
     ofAll},
    {"alltoall", true, true, false, false, false,
     [](const Case& c) {
       return HcclAlltoAll(c.send, c.block, typeOf(c), c.receive, c.block, typeOf(c), c.comm,
                           c.stream);
     },
     ofEachForThis},
    {"alltoallv", true, true, false, false, false, alltoallv, ofEachForThis},
    {"broadcast", false, false, false, false, true,
     [](const Case& c) {
       return HcclBroadcast(c.send, c.block, typeOf(c), c.options->root, c.comm, c.stream);
     },
     [](const Case& c, uint64_t index) { return sentBy(c.options->root, index); }},
    {"reduce", false, false, true, true, false,
     [](const Case& c) {
       return HcclReduce(c.send, c.receive, c.block, typeOf(c), c.options->reduction,
                         c.options->root, c.comm, c.stream);
     },
     ofAll},
    {"reduce_scatter", true, false, true, false, false,
     [](const Case& c) {
       return HcclReduceScatter(c.send, c.receive, c.block, typeOf(c), c.options->reduction,
                                c.comm, c.stream);
     },
     [](const Case& c, uint64_t index) { return ofAll(c, c.rank * c.block + index); }},
    {"scatter", true, false, false, false, false,
     [](const Case& c) {
       return HcclScatter(c.send, c.receive, c.block, typeOf(c), c.options->root, c.comm,
                          c.stream);
     },
     [](const Case& c, uint64_t index) {
       return sentBy(c.options->root, c.rank * c.block + index);
     }},
};

}  // namespace

const Operation& findOperation(const std::string& name) {
  for (const Operation& operation : kOperations) {
    if (name == operation.name) return operation;
  }
  throw UsageError("there is no operation '" + name + "'");
}

}  // namespace hccl_test
