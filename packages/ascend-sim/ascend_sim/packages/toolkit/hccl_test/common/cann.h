// SPDX-License-Identifier: Apache-2.0
// The functions of CANN that the tests call: the simulated toolkit has no header files.
// Source: the API references of AscendCL and HCCL.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

int aclInit(const char* config);
int aclFinalize();
const char* aclGetRecentErrMsg();
int aclrtGetDeviceCount(uint32_t* count);
int aclrtSetDevice(int32_t device);
int aclrtResetDevice(int32_t device);
int aclrtCreateStream(void** stream);
int aclrtDestroyStream(void* stream);
int aclrtSynchronizeStream(void* stream);
int aclrtMalloc(void** memory, size_t size, int policy);
int aclrtFree(void* memory);
int aclrtMemcpy(void* to, size_t capacity, const void* from, size_t size, int kind);

struct HcclRootInfo {
  char internal[4108];
};

int HcclGetRootInfo(HcclRootInfo* info);
int HcclCommInitRootInfo(uint32_t ranks, const HcclRootInfo* info, uint32_t rank, void** comm);
int HcclCommDestroy(void* comm);
int HcclAllReduce(void* send, void* receive, uint64_t count, int type, int reduction, void* comm,
                  void* stream);
int HcclReduce(void* send, void* receive, uint64_t count, int type, int reduction, uint32_t root,
               void* comm, void* stream);
int HcclReduceScatter(void* send, void* receive, uint64_t count, int type, int reduction,
                      void* comm, void* stream);
int HcclAllGather(void* send, void* receive, uint64_t count, int type, void* comm, void* stream);
int HcclBroadcast(void* buffer, uint64_t count, int type, uint32_t root, void* comm, void* stream);
int HcclScatter(void* send, void* receive, uint64_t count, int type, uint32_t root, void* comm,
                void* stream);
int HcclAlltoAll(const void* send, uint64_t send_count, int send_type, const void* receive,
                 uint64_t receive_count, int receive_type, void* comm, void* stream);
int HcclAlltoAllV(const void* send, const void* send_counts, const void* send_places,
                  int send_type, const void* receive, const void* receive_counts,
                  const void* receive_places, int receive_type, void* comm, void* stream);

}  // extern "C"
