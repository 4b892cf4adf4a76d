// SPDX-License-Identifier: Apache-2.0
// The operations of HCCL on a group of ranks.
#include <cstring>
#include <vector>

#include "../runtime/devices.h"
#include "communicator.h"
#include "group_calls.h"
#include "reduction.h"

using namespace npusim;

namespace {

constexpr int kNoReduction = -1, kNoRoot = -1;

void requireCollective(const char* name) {
  if (!isNamed(chip().lacks, name)) return;
  throw Error(kHcclNotSupported, std::string("Hccl") + name + " is not supported on " + socName());
}

template <class Operation>
int operate(const char* name, void* comm, Stream stream, Operation&& operation) {
  return guarded([&] {
    requireCollective(name);
    opened<Communicator>(comm);
    issue(stream, [=] { operation(*opened<Communicator>(comm)); });
  });
}

// Added as a number: the caller's address may be wrong, and is checked later.
uint8_t* at(const void* buffer, size_t offset) {
  return reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(buffer) + offset);
}

Part partOf(uint32_t peer, const void* buffer, uint64_t count, int type) {
  const size_t bytes = bytesOf(count, type);
  requireBuffer(buffer, bytes);
  return {peer, at(buffer, 0), bytes, type};
}

// One part for each rank: `counts` elements, `places` elements from the start of the buffer.
std::vector<Part> partsOf(const void* buffer, const std::vector<uint64_t>& counts,
                          const std::vector<uint64_t>& places, int type) {
  std::vector<Part> parts;
  for (uint32_t rank = 0; rank < counts.size(); ++rank) {
    parts.push_back(partOf(rank, at(buffer, bytesOf(places[rank], type)), counts[rank], type));
  }
  return parts;
}

// At the call, since a graph outlives the caller's list.
std::vector<uint64_t> copied(const void* numbers, const Communicator& group) {
  auto* first = static_cast<const uint64_t*>(numbers);
  if (first == nullptr) throw Error(kHcclParameter, "a list of counts is missing (null)");
  return std::vector<uint64_t>(first, first + group.ranks());
}

// That many of every rank.
uint64_t times(uint64_t count, const Communicator& group) {
  if (count > UINT64_MAX / group.ranks()) throw Error(kHcclParameter, "the count is too large");
  return count * group.ranks();
}

std::vector<uint64_t> equalCounts(uint64_t count, uint32_t ranks) {
  return std::vector<uint64_t>(ranks, count);
}

std::vector<uint64_t> placesOf(const std::vector<uint64_t>& counts) {
  std::vector<uint64_t> places;
  uint64_t place = 0;
  for (uint64_t count : counts) {
    places.push_back(place);
    place += count;
  }
  return places;
}

}  // namespace

NPUSIM_API int HcclBarrier(void* comm, Stream stream) {
  return operate("Barrier", comm, stream, [=](Communicator& group) {
    group.exchange({"Barrier", 0, 0, kNoReduction, kNoRoot}, nullptr, 0, nullptr);
  });
}

NPUSIM_API int HcclAllReduce(void* send, void* receive, uint64_t count, int type, int reduction,
                             void* comm, Stream stream) {
  return operate("AllReduce", comm, stream, [=](Communicator& group) {
    reduceInto(group, {"AllReduce", count, type, reduction, kNoRoot}, send, receive, count,
               {0, count});
  });
}

NPUSIM_API int HcclReduce(void* send, void* receive, uint64_t count, int type, int reduction,
                          uint32_t root, void* comm, Stream stream) {
  return operate("Reduce", comm, stream, [=](Communicator& group) {
    reduceInto(group, {"Reduce", count, type, reduction, static_cast<int32_t>(root)}, send,
               receive, count, {0, group.rank() == root ? count : 0});
  });
}

NPUSIM_API int HcclReduceScatter(void* send, void* receive, uint64_t count, int type,
                                 int reduction, void* comm, Stream stream) {
  return operate("ReduceScatter", comm, stream, [=](Communicator& group) {
    reduceInto(group, {"ReduceScatter", count, type, reduction, kNoRoot}, send, receive,
               times(count, group), {count * group.rank(), count});
  });
}

NPUSIM_API int HcclReduceScatterV(void* send, const void* counts, const void* places,
                                  void* receive, uint64_t count, int type, int reduction,
                                  void* comm, Stream stream) {
  return guarded([&] {
    requireCollective("ReduceScatterV");
    const auto held = opened<Communicator>(comm);
    const Communicator& group = *held;
    const auto sizes = copied(counts, group), starts = copied(places, group);
    const uint32_t rank = group.rank();
    if (sizes[rank] != count) throw Error(kHcclParameter, "recvCount differs from sendCounts");
    uint64_t whole = 0;
    for (uint32_t i = 0; i < group.ranks(); ++i) {
      if (sizes[i] > UINT64_MAX - starts[i]) throw Error(kHcclParameter, "a count is too large");
      whole = std::max(whole, starts[i] + sizes[i]);
    }
    issue(stream, [=, first = starts[rank]] {
      const Call call{"ReduceScatterV", whole, type, reduction, kNoRoot};
      reduceInto(*opened<Communicator>(comm), call, send, receive, whole, {first, count});
    });
  });
}

NPUSIM_API int HcclAllGather(void* send, void* receive, uint64_t count, int type, void* comm,
                             Stream stream) {
  return operate("AllGather", comm, stream, [=](Communicator& group) {
    const size_t size = bytesOf(count, type);
    requireBuffer(send, size);
    requireBuffer(receive, bytesOf(times(count, group), type));
    group.exchange({"AllGather", count, type, kNoReduction, kNoRoot}, send, size,
                   [=](uint32_t rank, size_t offset, const uint8_t* data, size_t bytes) {
                     std::memcpy(at(receive, rank * size + offset), data, bytes);
                   });
  });
}

NPUSIM_API int HcclAllGatherV(void* send, uint64_t count, void* receive, const void* counts,
                              const void* places, int type, void* comm, Stream stream) {
  return guarded([&] {
    requireCollective("AllGatherV");
    const auto held = opened<Communicator>(comm);
    const Communicator& group = *held;
    const auto own = equalCounts(count, group.ranks());
    const auto out = partsOf(send, own, equalCounts(0, group.ranks()), type);
    const auto in = partsOf(receive, copied(counts, group), copied(places, group), type);
    issueMessages(comm, stream, out, in);
  });
}

NPUSIM_API int HcclBroadcast(void* buffer, uint64_t count, int type, uint32_t root, void* comm,
                             Stream stream) {
  return operate("Broadcast", comm, stream, [=](Communicator& group) {
    const bool is_root = group.rank() == root;
    requireBuffer(buffer, bytesOf(count, type));
    group.exchange({"Broadcast", count, type, kNoReduction, static_cast<int32_t>(root)},
                   is_root ? buffer : nullptr, bytesOf(count, type),
                   [=](uint32_t rank, size_t offset, const uint8_t* data, size_t bytes) {
                     if (rank == root && !is_root) std::memcpy(at(buffer, offset), data, bytes);
                   });
  });
}

NPUSIM_API int HcclScatter(void* send, void* receive, uint64_t count, int type, uint32_t root,
                           void* comm, Stream stream) {
  return operate("Scatter", comm, stream, [=](Communicator& group) {
    const auto counts = equalCounts(count, group.rank() == root ? group.ranks() : 0);
    group.transfer(partsOf(send, counts, placesOf(counts), type),
                   {partOf(root, receive, count, type)});
  });
}

NPUSIM_API int HcclAlltoAll(const void* send, uint64_t send_count, int send_type,
                            const void* receive, uint64_t receive_count, int receive_type,
                            void* comm, Stream stream) {
  return operate("AlltoAll", comm, stream, [=](Communicator& group) {
    const auto out = equalCounts(send_count, group.ranks());
    const auto in = equalCounts(receive_count, group.ranks());
    group.transfer(partsOf(send, out, placesOf(out), send_type),
                   partsOf(receive, in, placesOf(in), receive_type));
  });
}

NPUSIM_API int HcclAlltoAllV(const void* send, const void* send_counts, const void* send_places,
                             int send_type, const void* receive, const void* receive_counts,
                             const void* receive_places, int receive_type, void* comm,
                             Stream stream) {
  return guarded([&] {
    const auto held = opened<Communicator>(comm);
    const Communicator& group = *held;
    const auto out = partsOf(send, copied(send_counts, group), copied(send_places, group),
                             send_type);
    const auto in = partsOf(receive, copied(receive_counts, group),
                            copied(receive_places, group), receive_type);
    issueMessages(comm, stream, out, in);
  });
}

// `counts` is the matrix of all ranks: row `from`, column `to`.
NPUSIM_API int HcclAlltoAllVC(const void* send, const void* counts, int send_type,
                              const void* receive, int receive_type, void* comm, Stream stream) {
  return guarded([&] {
    const auto held = opened<Communicator>(comm);
    const Communicator& group = *held;
    if (counts == nullptr) throw Error(kHcclParameter, "the matrix of counts is missing (null)");
    const uint32_t ranks = group.ranks(), own = group.rank();
    auto* matrix = static_cast<const uint64_t*>(counts);
    std::vector<uint64_t> out, in;
    for (uint32_t peer = 0; peer < ranks; ++peer) {
      out.push_back(matrix[own * ranks + peer]);
      in.push_back(matrix[peer * ranks + own]);
    }
    const auto sends = partsOf(send, out, placesOf(out), send_type);
    const auto receives = partsOf(receive, in, placesOf(in), receive_type);
    issueMessages(comm, stream, sends, receives);
  });
}

NPUSIM_API int HcclSend(void* buffer, uint64_t count, int type, uint32_t to, void* comm,
                        Stream stream) {
  return guarded([&] {
    opened<Communicator>(comm);
    issueMessages(comm, stream, {partOf(to, buffer, count, type)}, {});
  });
}

NPUSIM_API int HcclRecv(void* buffer, uint64_t count, int type, uint32_t from, void* comm,
                        Stream stream) {
  return guarded([&] {
    opened<Communicator>(comm);
    issueMessages(comm, stream, {}, {partOf(from, buffer, count, type)});
  });
}

struct HcclSendRecvItem {
  int32_t kind;  // 0 send, 1 receive
  void* buffer;
  uint64_t count;
  int32_t type;
  uint32_t peer;
};

NPUSIM_API int HcclBatchSendRecv(const HcclSendRecvItem* items, uint32_t count, void* comm,
                                 Stream stream) {
  return guarded([&] {
    opened<Communicator>(comm);
    if (items == nullptr || count == 0) throw Error(kHcclParameter, "an empty batch");
    std::vector<Part> sends, receives;
    for (const auto* item = items; item != items + count; ++item) {
      if (item->kind != 0 && item->kind != 1) throw Error(kHcclParameter, "no send or receive");
      (item->kind == 0 ? sends : receives)
          .push_back(partOf(item->peer, item->buffer, item->count, item->type));
    }
    issueMessages(comm, stream, sends, receives);
  });
}
