// SPDX-License-Identifier: Apache-2.0
// The profiler's interfaces: there is nothing to profile. What torch_npu calls at import is quiet;
// what a user asks for says once that no data comes of it.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "../core/errors.h"

using namespace npusim;

namespace {

int noData(const char* what) {
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) {
    std::fprintf(stderr, "npusim: %s: a simulated device has no profiling data\n", what);
  }
  return kSuccess;
}

char profiling_object;  // what a handle points to that stands for nothing

}  // namespace

NPUSIM_API int32_t MsprofRegisterCallback(uint32_t, void*) { return kSuccess; }
NPUSIM_API int32_t MsprofReportApi(uint32_t, const void*) { return kSuccess; }
NPUSIM_API int32_t MsprofReportCompactInfo(uint32_t, const void*, uint32_t) { return kSuccess; }
NPUSIM_API int32_t MsprofReportAdditionalInfo(uint32_t, const void*, uint32_t) { return kSuccess; }
NPUSIM_API uint64_t MsprofGetHashId(const char*, size_t) { return 0; }
NPUSIM_API uint64_t MsprofSysCycleTime() { return 0; }

NPUSIM_API int aclprofInit(const char*, size_t) { return noData("aclprofInit"); }
NPUSIM_API int aclprofFinalize() { return kSuccess; }
NPUSIM_API int aclprofStart(const void*) { return noData("aclprofStart"); }
NPUSIM_API int aclprofStop(const void*) { return kSuccess; }
NPUSIM_API int aclprofWarmup(const void*) { return kSuccess; }
NPUSIM_API void* aclprofCreateConfig(uint32_t*, uint32_t, int, const void*, uint64_t) {
  return &profiling_object;
}
NPUSIM_API int aclprofDestroyConfig(const void*) { return kSuccess; }
NPUSIM_API int aclprofSetConfig(int, const char*, size_t) { return kSuccess; }
NPUSIM_API void* aclprofCreateStepInfo() { return &profiling_object; }
NPUSIM_API void aclprofDestroyStepInfo(void*) {}
NPUSIM_API int aclprofGetStepTimestamp(void*, int, Stream) { return kSuccess; }
NPUSIM_API int aclprofMarkEx(const char*, size_t, Stream) { return kSuccess; }
NPUSIM_API int aclprofRegisterDeviceCallback() { return kSuccess; }

// libmspti.so: a subscription that never hears of anything.
NPUSIM_API int msptiSubscribe(void** handle, void*, void*) {
  if (handle != nullptr) *handle = &profiling_object;
  return noData("msptiSubscribe");
}
NPUSIM_API int msptiUnsubscribe(void*) { return kSuccess; }
NPUSIM_API int msptiEnableCallback(uint32_t, void*, int, uint32_t) { return kSuccess; }
NPUSIM_API int msptiEnableDomain(uint32_t, void*, int) { return kSuccess; }
NPUSIM_API int msptiActivityRegisterCallbacks(void*, void*) {
  return noData("msptiActivityRegisterCallbacks");
}
NPUSIM_API int msptiActivityEnable(int) { return kSuccess; }
NPUSIM_API int msptiActivityDisable(int) { return kSuccess; }
NPUSIM_API bool msptiActivityIsEnabled(int) { return false; }
NPUSIM_API int msptiActivityFlushAll(uint32_t) { return kSuccess; }
NPUSIM_API int msptiActivityFlushPeriod(uint32_t) { return kSuccess; }
NPUSIM_API int msptiActivityGetNextRecord(uint8_t*, size_t, void** record) {
  if (record != nullptr) *record = nullptr;
  return 2;  // MSPTI_ERROR_MAX_LIMIT_REACHED: there is no further record
}
NPUSIM_API int msptiActivityPushExternalCorrelationId(int, uint64_t) { return kSuccess; }
NPUSIM_API int msptiActivityPopExternalCorrelationId(int, uint64_t* id) {
  if (id != nullptr) *id = 0;
  return kSuccess;
}
