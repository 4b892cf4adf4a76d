// SPDX-License-Identifier: Apache-2.0
// The profiler's hooks: there is nothing to profile, and torch_npu calls these at import.
#include <cstddef>
#include <cstdint>

#include "../core/errors.h"

using namespace npusim;

NPUSIM_API int32_t MsprofRegisterCallback(uint32_t, void*) { return kSuccess; }
NPUSIM_API int32_t MsprofReportApi(uint32_t, const void*) { return kSuccess; }
NPUSIM_API int32_t MsprofReportCompactInfo(uint32_t, const void*, uint32_t) { return kSuccess; }
NPUSIM_API int32_t MsprofReportAdditionalInfo(uint32_t, const void*, uint32_t) { return kSuccess; }
NPUSIM_API uint64_t MsprofGetHashId(const char*, size_t) { return 0; }
NPUSIM_API uint64_t MsprofSysCycleTime() { return 0; }
