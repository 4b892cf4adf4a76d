// SPDX-License-Identifier: Apache-2.0
// The HCCL functions that torch_npu's process group calls.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

#include "../aclnn/arithmetic.h"
#include "../aclnn/tensor.h"
#include "../runtime/devices.h"
#include "communicator.h"

using namespace npusim;

namespace {

constexpr int kParameter = 1;         // HCCL_E_PARA
constexpr int kHcclDriverError = 16;  // HCCL_E_DRV
constexpr size_t kRootInfoBytes = 4108;
constexpr size_t kNameBytes = 128;

enum ReduceOperation { kSum = 0, kProduct = 1, kMaximum = 2, kMinimum = 3 };

DataType elementType(int hccl_type) {
  static const DataType types[] = {
      DataType::Int8,   DataType::Int16,  DataType::Int32, DataType::Half,
      DataType::Float,  DataType::Int64,  DataType::Uint64, DataType::Uint8,
      DataType::Uint16, DataType::Uint32, DataType::Double, DataType::Bfloat16};
  if (hccl_type < 0 || hccl_type > 11) {
    throw Error(kParameter, "HCCL data type " + std::to_string(hccl_type) + " is not simulated");
  }
  return types[hccl_type];
}

size_t bytesOf(uint64_t count, int type) { return count * elementSize(elementType(type)); }

template <class T>
T combined(T a, T b, int operation) {
  switch (operation) {
    case kSum: return a + b;
    case kProduct: return a * b;
    case kMaximum: return larger(a, b);
    case kMinimum: return smaller(a, b);
  }
  throw Error(kParameter, "reduce operation " + std::to_string(operation));
}

// The reduction of every rank's `send`, in rank order and in the computing type, so that all
// ranks get the same bits.
template <class T>
std::vector<T> reduced(Communicator& group, const void* send, uint64_t count, DataType dtype,
                       int operation) {
  const size_t size = elementSize(dtype);
  std::vector<T> result(count);
  group.exchange(send, count * size,
                 [&](uint32_t rank, size_t offset, const uint8_t* data, size_t bytes) {
    Tensor view{dtype, {static_cast<int64_t>(bytes / size)}, {1}, 0,
                const_cast<uint8_t*>(data)};
    const std::vector<T> values = load<T>(view);
    T* out = result.data() + offset / size;
    for (size_t i = 0; i < values.size(); ++i) {
      out[i] = rank == 0 ? values[i] : combined(out[i], values[i], operation);
    }
  });
  return result;
}

// Reduces `count` elements and keeps `kept` of them from `first` on.
void reduceInto(void* send, void* receive, uint64_t count, uint64_t first, uint64_t kept, int type,
                int operation, void* comm) {
  const DataType dtype = elementType(type);
  Tensor out{dtype, {static_cast<int64_t>(kept)}, {1}, 0, static_cast<uint8_t*>(receive)};
  withComputeType({&out}, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> all = reduced<T>(opened<Communicator>(comm), send, count, dtype, operation);
    store(out, std::vector<T>(all.begin() + first, all.begin() + first + kept));
  });
}

int joinGroup(uint32_t ranks, const void* root_info, uint32_t rank, void** comm) {
  return guarded([&] {
    requireDriver(kHcclDriverError);
    if (ranks == 0 || ranks > kMostRanks || rank >= ranks) {
      throw Error(kParameter, "rank " + std::to_string(rank) + " of " + std::to_string(ranks));
    }
    const std::string name(static_cast<const char*>(root_info));
    *comm = publish(std::make_unique<Communicator>(name, ranks, rank));
  });
}

}  // namespace

// The root info is what rank 0 tells the others through torch's store: the shared file's name.
NPUSIM_API int HcclGetRootInfo(char* root_info) {
  static unsigned made = 0;
  std::memset(root_info, 0, kRootInfoBytes);
  std::snprintf(root_info, kRootInfoBytes, "npusim_hccl_%ld_%d_%u",
                static_cast<long>(std::time(nullptr)), static_cast<int>(getpid()), made++);
  return kSuccess;
}

NPUSIM_API int HcclCommInitRootInfo(uint32_t ranks, const void* root_info, uint32_t rank,
                                    void** comm) {
  return joinGroup(ranks, root_info, rank, comm);
}
NPUSIM_API int HcclCommInitRootInfoConfig(uint32_t ranks, const void* root_info, uint32_t rank,
                                          const void*, void** comm) {
  return joinGroup(ranks, root_info, rank, comm);
}

NPUSIM_API int HcclCommDestroy(void* comm) {
  return guarded([&] { withdrawn<Communicator>(comm); });
}
NPUSIM_API int HcclGetCommName(void* comm, char* name) {
  return guarded([&] {
    std::snprintf(name, kNameBytes, "%s", opened<Communicator>(comm).name().c_str());
  });
}
NPUSIM_API int HcclGetCommAsyncError(void* comm, int* error) {
  return guarded([&] {
    opened<Communicator>(comm);
    *error = kSuccess;
  });
}
NPUSIM_API int HcclGetRankSize(void* comm, uint32_t* ranks) {
  return guarded([&] { *ranks = opened<Communicator>(comm).ranks(); });
}
NPUSIM_API int HcclGetRankId(void* comm, uint32_t* rank) {
  return guarded([&] { *rank = opened<Communicator>(comm).rank(); });
}
NPUSIM_API int HcclSetConfig(int, int32_t) { return kSuccess; }
NPUSIM_API uint32_t HcclGetCommConfigCapability() { return 0; }

NPUSIM_API int HcclBarrier(void* comm, Stream) {
  return guarded([&] { opened<Communicator>(comm).barrier(); });
}

NPUSIM_API int HcclAllReduce(void* send, void* receive, uint64_t count, int type, int operation,
                             void* comm, Stream) {
  return guarded([&] { reduceInto(send, receive, count, 0, count, type, operation, comm); });
}

NPUSIM_API int HcclReduce(void* send, void* receive, uint64_t count, int type, int operation,
                          uint32_t root, void* comm, Stream) {
  return guarded([&] {
    const bool wanted = opened<Communicator>(comm).rank() == root;
    reduceInto(send, receive, count, 0, wanted ? count : 0, type, operation, comm);
  });
}

NPUSIM_API int HcclReduceScatter(void* send, void* receive, uint64_t count, int type,
                                 int operation, void* comm, Stream) {
  return guarded([&] {
    Communicator& group = opened<Communicator>(comm);
    reduceInto(send, receive, count * group.ranks(), count * group.rank(), count, type, operation,
               comm);
  });
}

NPUSIM_API int HcclAllGather(void* send, void* receive, uint64_t count, int type, void* comm,
                             Stream) {
  return guarded([&] {
    const size_t size = bytesOf(count, type);
    opened<Communicator>(comm).exchange(
        send, size, [&](uint32_t rank, size_t offset, const uint8_t* data, size_t bytes) {
          std::memcpy(static_cast<uint8_t*>(receive) + rank * size + offset, data, bytes);
        });
  });
}

NPUSIM_API int HcclBroadcast(void* buffer, uint64_t count, int type, uint32_t root, void* comm,
                             Stream) {
  return guarded([&] {
    opened<Communicator>(comm).exchange(
        buffer, bytesOf(count, type),
        [&](uint32_t rank, size_t offset, const uint8_t* data, size_t bytes) {
          if (rank == root) std::memcpy(static_cast<uint8_t*>(buffer) + offset, data, bytes);
        });
  });
}

NPUSIM_API int HcclScatter(void* send, void* receive, uint64_t count, int type, uint32_t root,
                           void* comm, Stream) {
  return guarded([&] {
    Communicator& group = opened<Communicator>(comm);
    const size_t size = bytesOf(count, type);
    for (uint32_t to = 0; to < group.ranks() && group.rank() == root; ++to) {
      const uint8_t* part = static_cast<uint8_t*>(send) + to * size;
      to == root ? static_cast<void>(std::memcpy(receive, part, size)) : group.send(part, size, to);
    }
    if (group.rank() != root) group.receive(receive, size, root);
  });
}

NPUSIM_API int HcclSend(void* buffer, uint64_t count, int type, uint32_t to, void* comm, Stream) {
  return guarded([&] { opened<Communicator>(comm).send(buffer, bytesOf(count, type), to); });
}

NPUSIM_API int HcclRecv(void* buffer, uint64_t count, int type, uint32_t from, void* comm,
                        Stream) {
  return guarded([&] { opened<Communicator>(comm).receive(buffer, bytesOf(count, type), from); });
}
