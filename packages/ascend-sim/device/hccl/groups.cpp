// SPDX-License-Identifier: Apache-2.0
// How groups of ranks come about and end.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>

#include "../core/fault.h"
#include "../runtime/devices.h"
#include "communicator.h"
#include "rank_table.h"

using namespace npusim;

namespace {

constexpr size_t kRootInfoBytes = 4108;
constexpr size_t kNameBytes = 128;

void requireGroup(uint32_t ranks, uint32_t rank) {
  requireDriver(kHcclDriverError);
  if (ranks == 0 || ranks > kMostRanks || rank >= ranks) {
    throw Error(kHcclParameter, "rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
                                    "; at most " + std::to_string(kMostRanks) +
                                    " are simulated");
  }
  if (leftoverProcesses()) {
    throw Error(kHcclRuntimeError,
                "EJ0001: Failed to initialize the HCCP process. Reason: Maybe the last training "
                "process is running.\n        Solution: Wait for 10s after killing the last "
                "training process and try again.");
  }
}

void join(const std::string& name, uint32_t ranks, uint32_t rank, void** comm) {
  requireGroup(ranks, rank);
  *comm = publish(std::make_shared<Communicator>(name, ranks, rank));
}

int joinRoot(uint32_t ranks, const char* root_info, uint32_t rank, void** comm) {
  return guarded([&] {
    if (root_info == nullptr || comm == nullptr) throw Error(kHcclParameter, "a null pointer");
    join(std::string(root_info, strnlen(root_info, kNameBytes)), ranks, rank, comm);
  });
}

// The groups that this process has made from one table: all ranks make the same ones in turn.
int joinTable(const char* path, uint32_t rank, void** comm) {
  return guarded([&] {
    static std::mutex mutex;
    static auto* made = new std::map<std::string, unsigned>;
    if (path == nullptr || comm == nullptr) throw Error(kHcclParameter, "a null pointer");
    const RankTable table = readRankTable(path);
    unsigned turn = 0;
    {
      std::lock_guard<std::mutex> lock(mutex);
      turn = (*made)[table.digest]++;
    }
    join("npusim_table_" + std::to_string(geteuid()) + "_" + table.digest + "_" +
             std::to_string(turn), table.ranks, rank, comm);
  });
}

std::string newName() {
  static std::atomic<unsigned> made{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  char name[kNameBytes];
  std::snprintf(name, sizeof name, "npusim_hccl_%ld_%ld_%d_%u", static_cast<long>(now.tv_sec),
                now.tv_nsec, static_cast<int>(getpid()), made++);
  return name;
}

}  // namespace

// The root info is what the root tells the others through torch's store: the group's name.
NPUSIM_API int HcclGetRootInfo(char* root_info) {
  return guarded([&] {
    std::memset(&given(root_info), 0, kRootInfoBytes);
    std::snprintf(root_info, kRootInfoBytes, "%s", newName().c_str());
  });
}

NPUSIM_API int HcclCommInitRootInfo(uint32_t ranks, const char* root_info, uint32_t rank,
                                    void** comm) {
  return joinRoot(ranks, root_info, rank, comm);
}
NPUSIM_API int HcclCommInitRootInfoConfig(uint32_t ranks, const char* root_info, uint32_t rank,
                                          const void*, void** comm) {
  return joinRoot(ranks, root_info, rank, comm);
}

NPUSIM_API int HcclCommInitClusterInfo(const char* path, uint32_t rank, void** comm) {
  return joinTable(path, rank, comm);
}
NPUSIM_API int HcclCommInitClusterInfoConfig(const char* path, uint32_t rank, const void*,
                                             void** comm) {
  return joinTable(path, rank, comm);
}

NPUSIM_API int HcclCommInitAll(uint32_t count, const int32_t* devices, void** comms) {
  return guarded([&] {
    if (devices == nullptr || comms == nullptr) throw Error(kHcclParameter, "a null pointer");
    requireGroup(count, 0);
    for (uint32_t i = 0; i < count; ++i) {
      if (devices[i] < 0 || static_cast<uint32_t>(devices[i]) >= deviceCount()) {
        throw Error(kHcclParameter, "no device " + std::to_string(devices[i]));
      }
    }
    auto group = Communicator::ofOneProcess(newName(), count);
    for (uint32_t i = 0; i < count; ++i) {
      comms[i] = publish(std::shared_ptr<Communicator>(std::move(group[i])));
    }
  });
}

// A rank outside the new group calls with no ranks and gets no communicator.
NPUSIM_API int HcclCreateSubCommConfig(void** comm, uint32_t ranks, const uint32_t* ids,
                                       uint64_t id, uint32_t rank, const void*, void** made) {
  return guarded([&] {
    if (comm == nullptr || made == nullptr) throw Error(kHcclParameter, "a null pointer");
    const auto parent = opened<Communicator>(*comm);
    *made = nullptr;
    if (ids == nullptr || ranks == 0) return;
    if (ranks > parent->ranks() || rank >= ranks || ids[rank] != parent->rank()) {
      throw Error(kHcclParameter, "the list of ranks does not have this rank at its place");
    }
    join(parent->name() + "_" + std::to_string(id), ranks, rank, made);
  });
}

NPUSIM_API int HcclCommDestroy(void* comm) {
  return guarded([&] { withdrawn<Communicator>(comm); });
}
NPUSIM_API int HcclGetCommName(void* comm, char* name) {
  return guarded([&] {
    const auto group = opened<Communicator>(comm);
    std::snprintf(&given(name), kNameBytes, "%s", group->name().c_str());
  });
}
NPUSIM_API int HcclGetCommAsyncError(void* comm, int* error) {
  return guarded([&] { given(error) = opened<Communicator>(comm)->lastError(); });
}
NPUSIM_API int HcclGetRankSize(void* comm, uint32_t* ranks) {
  return guarded([&] { given(ranks) = opened<Communicator>(comm)->ranks(); });
}
NPUSIM_API int HcclGetRankId(void* comm, uint32_t* rank) {
  return guarded([&] { given(rank) = opened<Communicator>(comm)->rank(); });
}
NPUSIM_API int HcclSetConfig(int, int32_t) { return kSuccess; }
NPUSIM_API uint32_t HcclGetCommConfigCapability() { return 0; }
NPUSIM_API const char* HcclGetErrorString(int code) {
  static const char* const names[] = {
      "HCCL_SUCCESS",           "HCCL_E_PARA",           "HCCL_E_PTR",
      "HCCL_E_MEMORY",          "HCCL_E_INTERNAL",       "HCCL_E_NOT_SUPPORT",
      "HCCL_E_NOT_FOUND",       "HCCL_E_UNAVAIL",        "HCCL_E_SYSCALL",
      "HCCL_E_TIMEOUT",         "HCCL_E_OPEN_FILE_FAILURE", "HCCL_E_TCP_CONNECT",
      "HCCL_E_ROCE_CONNECT",    "HCCL_E_TCP_TRANSFER",   "HCCL_E_ROCE_TRANSFER",
      "HCCL_E_RUNTIME",         "HCCL_E_DRV",            "HCCL_E_PROFILING",
      "HCCL_E_CCE",             "HCCL_E_NETWORK",        "HCCL_E_AGAIN",
      "HCCL_E_REMOTE"};
  return code >= 0 && code < 22 ? names[code] : "unknown HCCL error";
}
