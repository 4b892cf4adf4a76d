// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "../core/errors.h"

using namespace npusim;

namespace npusim {
namespace {

struct SimulatedStream {
  static constexpr Kind kKind = Kind::Stream;
  uint32_t overflow_switch = 0;
};

// Who captures what; guarded by the one mutex, since captures are rare and short.
struct Captures {
  std::mutex mutex;
  std::map<Stream, Graph*> of;
};

Captures& captures() {
  static auto* instance = new Captures;
  return *instance;
}

std::atomic<bool> any_capture{false};  // spares every operator the mutex

}  // namespace

Graph* captureOf(Stream stream) {
  if (stream == nullptr || !any_capture) return nullptr;
  opened<SimulatedStream>(stream);
  std::lock_guard<std::mutex> lock(captures().mutex);
  auto found = captures().of.find(stream);
  return found == captures().of.end() ? nullptr : found->second;
}

void beginCapture(Stream stream, Graph* graph) {
  opened<SimulatedStream>(stream);
  std::lock_guard<std::mutex> lock(captures().mutex);
  if (!captures().of.emplace(stream, graph).second) {
    throw Error(kInvalidParam, "the stream is being captured already");
  }
  any_capture = true;
}

void joinCapture(Stream stream, Graph* graph) {
  opened<SimulatedStream>(stream);
  if (graph == nullptr) return;
  std::lock_guard<std::mutex> lock(captures().mutex);
  auto& of = captures().of;
  const bool active = std::any_of(of.begin(), of.end(), [=](auto& each) {
    return each.second == graph;
  });
  if (active) of.emplace(stream, graph);
}

void endCapture(Graph* graph) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  auto& of = captures().of;
  for (auto each = of.begin(); each != of.end();) {
    each = each->second == graph ? of.erase(each) : std::next(each);
  }
  any_capture = !of.empty();
}

void submit(Stream stream, Work work) {
  if (Graph* graph = captureOf(stream)) {
    graph->works.push_back(std::move(work));
  } else {
    work();
  }
}

}  // namespace npusim

namespace {

int createStream(Stream* stream) {
  return guarded([&] { *stream = publish(std::make_unique<SimulatedStream>()); });
}

int checkStream(Stream stream) {  // a null stream is the default stream
  return guarded([&] {
    if (stream != nullptr) opened<SimulatedStream>(stream);
  });
}

// A stream that waits for a capture to be carried out would wait for ever.
int synchronize(Stream stream) {
  return guarded([&] {
    if (stream != nullptr) opened<SimulatedStream>(stream);
    if (isCaptured(stream)) {
      throw Error(kNotSupported, "a stream cannot be synchronized while it is captured in a graph");
    }
  });
}

}  // namespace

NPUSIM_API int aclrtCreateStream(Stream* stream) { return createStream(stream); }
NPUSIM_API int aclrtCreateStreamWithConfig(Stream* stream, uint32_t, uint32_t) {
  return createStream(stream);
}
NPUSIM_API int aclrtDestroyStream(Stream stream) {
  return guarded([&] {
    withdrawn<SimulatedStream>(stream);
    std::lock_guard<std::mutex> lock(captures().mutex);
    captures().of.erase(stream);
  });
}
NPUSIM_API int aclrtDestroyStreamForce(Stream stream) { return aclrtDestroyStream(stream); }

NPUSIM_API int aclrtSynchronizeDevice() { return kSuccess; }
NPUSIM_API int aclrtSynchronizeDeviceWithTimeout(int32_t) { return kSuccess; }
NPUSIM_API int aclrtSynchronizeStream(Stream stream) { return synchronize(stream); }
NPUSIM_API int aclrtSynchronizeStreamWithTimeout(Stream stream, int32_t) {
  return synchronize(stream);
}
NPUSIM_API int aclrtStreamQuery(Stream stream, int32_t* status) {
  *status = 0;
  return checkStream(stream);
}
NPUSIM_API int aclrtSetStreamFailureMode(Stream stream, uint64_t) { return checkStream(stream); }
NPUSIM_API int aclrtStreamGetId(Stream stream, int32_t* id) {
  *id = 0;
  return checkStream(stream);
}

NPUSIM_API int aclrtSetStreamOverflowSwitch(Stream stream, uint32_t flag) {
  return guarded([&] { opened<SimulatedStream>(stream).overflow_switch = flag; });
}
NPUSIM_API int aclrtGetStreamOverflowSwitch(Stream stream, uint32_t* flag) {
  return guarded([&] { *flag = opened<SimulatedStream>(stream).overflow_switch; });
}

// Host callbacks: nothing is ever pending.
NPUSIM_API int aclrtSubscribeReport(uint64_t, Stream) { return kSuccess; }
NPUSIM_API int aclrtUnSubscribeReport(uint64_t, Stream) { return kSuccess; }
NPUSIM_API int aclrtLaunchCallback(void (*callback)(void*), void* data, int, Stream stream) {
  return guarded([&] { submit(stream, [=] { callback(data); }); });
}
NPUSIM_API int aclrtLaunchHostFunc(Stream stream, void (*callback)(void*), void* data) {
  return guarded([&] { submit(stream, [=] { callback(data); }); });
}
NPUSIM_API int aclrtProcessReport(int32_t timeout_ms) {
  const int wait_timeout = 100036;
  timespec pause{timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
  if (timeout_ms > 0) nanosleep(&pause, nullptr);
  return wait_timeout;
}
