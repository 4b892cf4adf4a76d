// SPDX-License-Identifier: Apache-2.0
// aclInit and the settings that torch_npu makes and reads: accepted, since a simulated device has
// no precision modes, no timeouts and no compiler.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "../core/errors.h"
#include "devices.h"

using namespace npusim;

namespace {

constexpr int kRepeatedInit = 100002;
constexpr int kOptionJitCompile = 10;
constexpr size_t kMostSettingsBytes = size_t{1} << 16;

std::atomic<bool> initialised{false};
std::mutex options_mutex;

// CANN compiles operators when they are called on the chips that kJitCompileEnabledByArch in
// op_compiler.cpp of hicann/ge has; torch_npu calls the older interface there.
std::map<int, std::string>& compileOptions() {
  static auto* options = new std::map<int, std::string>{
      {kOptionJitCompile, isFirstGeneration() ? "enable" : "disable"}};
  return *options;
}

std::string compileOption(int option) {
  std::lock_guard<std::mutex> lock(options_mutex);
  const auto found = compileOptions().find(option);
  return found == compileOptions().end() ? "" : found->second;
}

// The device that a file of settings names, or -1:
//     {"defaultDevice": {"default_device": "0"}}
int32_t configuredDevice(const char* path) {
  std::ifstream file(path == nullptr ? "" : path);
  std::string text(kMostSettingsBytes, '\0');
  file.read(&text[0], static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  const std::string name = "\"default_device\"";
  const size_t found = text.find(name);
  if (found == std::string::npos) return -1;
  const size_t first = text.find_first_not_of(" \t\r\n:\"", found + name.size());
  const std::string digits = text.substr(std::min(first, text.size()), 4);
  const size_t count = std::min(digits.find_first_not_of("0123456789"), digits.size());
  return count == 0 || count > 3 ? -1 : std::stoi(digits.substr(0, count));
}

}  // namespace

NPUSIM_API int aclInit(const char* path) {
  if (initialised.exchange(true)) return kRepeatedInit;
  return guarded([&] { setDefaultDevice(configuredDevice(path)); });
}

NPUSIM_API int aclFinalize() {
  initialised = false;
  return kSuccess;
}

NPUSIM_API int aclSetCompileopt(int option, const char* value) {
  if (value == nullptr) return kInvalidParam;
  std::lock_guard<std::mutex> lock(options_mutex);
  compileOptions()[option] = value;
  return kSuccess;
}

NPUSIM_API size_t aclGetCompileoptSize(int option) { return compileOption(option).size() + 1; }

NPUSIM_API int aclGetCompileopt(int option, char* value, size_t length) {
  const std::string text = compileOption(option);
  if (value == nullptr || length < text.size() + 1) return kInvalidParam;
  std::memcpy(value, text.c_str(), text.size() + 1);
  return kSuccess;
}

// Attributes: 0 infinities and NaN are kept, 1 bfloat16 (support_inf_nan and support_bf16 of
// platform_config in hicann/runtime), 2 kernels compiled beforehand (off).
NPUSIM_API int aclGetCannAttribute(int attribute, int32_t* value) {
  if (value == nullptr || attribute < 0 || attribute > 2) return kInvalidParam;
  *value = attribute != 2 && !isFirstGeneration();
  return kSuccess;
}

NPUSIM_API int aclGetCannAttributeList(const int** attributes, size_t* count) {
  static const int supported[] = {0, 1};
  if (attributes == nullptr || count == nullptr) return kInvalidParam;
  *attributes = supported;
  *count = 2;
  return kSuccess;
}

NPUSIM_API int aclrtGetDeviceUtilizationRate(int32_t, int32_t* rates) {
  if (rates == nullptr) return kInvalidParam;
  std::memset(rates, 0, 4 * sizeof *rates);  // cube, vector, AI CPU and memory: all idle
  return kSuccess;
}

NPUSIM_API int aclrtCtxSetSysParamOpt(int, int64_t) { return kSuccess; }
NPUSIM_API int aclrtSetSysParamOpt(int, int64_t) { return kSuccess; }
NPUSIM_API int aclrtGetSysParamOpt(int, int64_t* value) {
  return guarded([&] { given(value) = 0; });
}
// From CANN 8.5 on torch_npu sets one at each capture of a graph.
NPUSIM_API int aclrtSetStreamAttribute(void*, int, void*) { return kSuccess; }
NPUSIM_API int aclrtSetDeviceSatMode(int) { return kSuccess; }
NPUSIM_API int aclrtSetOpExecuteTimeOut(uint32_t) { return kSuccess; }
NPUSIM_API int aclrtSetOpExecuteTimeOutV2(uint64_t microseconds, uint64_t* actual) {
  return guarded([&] { given(actual) = microseconds; });
}
NPUSIM_API int aclrtSetOpWaitTimeout(uint32_t) { return kSuccess; }
NPUSIM_API int aclrtSetExceptionInfoCallback(void*) { return kSuccess; }
NPUSIM_API int aclrtPeekAtLastError(int) { return kSuccess; }
NPUSIM_API int aclrtGetLastError(int) { return kSuccess; }
NPUSIM_API int aclmdlInitDump() { return kSuccess; }
NPUSIM_API int aclmdlSetDump(const char*) { return kSuccess; }
NPUSIM_API int aclmdlFinalizeDump() { return kSuccess; }
NPUSIM_API void aclAppLog(int, const char*, const char*, uint32_t, const char*, ...) {}
