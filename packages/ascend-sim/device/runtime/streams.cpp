// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "../core/errors.h"
#include "device_faults.h"

using namespace npusim;

namespace npusim {
namespace {

struct SimulatedStream {
  static constexpr Kind kKind = Kind::Stream;
  std::atomic<uint32_t> overflow_switch{0};
  const std::shared_ptr<StreamQueue> queue = std::make_shared<StreamQueue>();
};

// Who captures what; guarded by the one mutex, since captures are rare and short.
struct Captures {
  std::mutex mutex;
  std::map<Stream, std::shared_ptr<Graph>> of;
};

Captures& captures() {
  static auto* instance = new Captures;
  return *instance;
}

std::atomic<bool> any_capture{false};  // spares every operator the mutex

std::shared_ptr<StreamQueue> queueOf(Stream stream) {
  static auto* default_queue = new std::shared_ptr<StreamQueue>(std::make_shared<StreamQueue>());
  return stream == nullptr ? *default_queue : opened<SimulatedStream>(stream)->queue;
}

}  // namespace

std::shared_ptr<const Graph::Steps> Graph::steps() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return steps_;
}

// The caller holds the mutex.
Graph::Steps& Graph::own() {
  if (steps_.use_count() > 1) steps_ = std::make_shared<Steps>(*steps_);
  return *steps_;
}

void Graph::add(Step step) {
  std::lock_guard<std::mutex> lock(mutex_);
  own().push_back(std::move(step));
}

void Graph::replace(size_t first, const Steps& others) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (first > steps_->size() || others.size() > steps_->size() - first) {
    throw Error(kInvalidParam, "the graph has no such calls");
  }
  std::copy(others.begin(), others.end(), own().begin() + static_cast<std::ptrdiff_t>(first));
}

void requireStream(Stream stream) {
  if (stream != nullptr) opened<SimulatedStream>(stream);
}

std::shared_ptr<Graph> captureOf(Stream stream) {
  requireStream(stream);
  if (stream == nullptr || !any_capture) return nullptr;
  std::lock_guard<std::mutex> lock(captures().mutex);
  auto found = captures().of.find(stream);
  return found == captures().of.end() ? nullptr : found->second;
}

void beginCapture(Stream stream, const std::shared_ptr<Graph>& graph) {
  opened<SimulatedStream>(stream);
  std::lock_guard<std::mutex> lock(captures().mutex);
  if (!captures().of.emplace(stream, graph).second) {
    throw Error(kInvalidParam, "the stream is being captured already");
  }
  any_capture = true;
}

void joinCapture(Stream stream, const Graph* graph) {
  opened<SimulatedStream>(stream);
  if (graph == nullptr) return;
  std::lock_guard<std::mutex> lock(captures().mutex);
  auto& of = captures().of;
  const auto active = std::find_if(of.begin(), of.end(), [=](auto& each) {
    return each.second.get() == graph;
  });
  if (active != of.end()) of.emplace(stream, active->second);
}

void endCapture(const Graph* graph) {
  std::lock_guard<std::mutex> lock(captures().mutex);
  auto& of = captures().of;
  for (auto each = of.begin(); each != of.end();) {
    each = each->second.get() == graph ? of.erase(each) : std::next(each);
  }
  any_capture = !of.empty();
}

bool isDeferred(Stream stream) { return isCaptured(stream) || !queueOf(stream)->isIdle(); }

void submit(Stream stream, Work work) {
  submitStep(stream, [work = std::move(work)] {
    work();
    return true;
  });
}

void submitStep(Stream stream, Step step) {
  if (const auto graph = captureOf(stream)) {
    graph->add(std::move(step));
    return;
  }
  queueOf(stream)->take(std::move(step));
  advanceStreams();
}

}  // namespace npusim

namespace {

constexpr int32_t kForEver = -1;

int createStream(Stream* stream) {
  return guarded([&] { given(stream) = publish(std::make_shared<SimulatedStream>()); });
}

int checkStream(Stream stream) {
  return guarded([&] { requireStream(stream); });
}

using HostFunction = void (*)(void*);

int launch(Stream stream, HostFunction function, void* data) {
  return guarded([&] {
    if (function == nullptr) throw Error(kInvalidParam, "a null function");
    submit(stream, [=] { function(data); });
  });
}

// A stream that waits for a capture to be carried out would wait for ever.
int synchronize(Stream stream, int32_t milliseconds) {
  return guarded([&] {
    if (isCaptured(stream)) {
      throw Error(kNotSupported, "a stream cannot be synchronized while it is captured in a graph");
    }
    queueOf(stream)->synchronize(milliseconds);
    requireNoFault();
  });
}

int synchronizeDevice(int32_t milliseconds) {
  return guarded([&] {
    synchronizeStreams(milliseconds);
    requireNoFault();
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

NPUSIM_API int aclrtSynchronizeDevice() { return synchronizeDevice(kForEver); }
NPUSIM_API int aclrtSynchronizeDeviceWithTimeout(int32_t milliseconds) {
  return synchronizeDevice(milliseconds);
}
NPUSIM_API int aclrtSynchronizeStream(Stream stream) { return synchronize(stream, kForEver); }
NPUSIM_API int aclrtSynchronizeStreamWithTimeout(Stream stream, int32_t milliseconds) {
  return synchronize(stream, milliseconds);
}
NPUSIM_API int aclrtStreamQuery(Stream stream, int32_t* status) {
  return guarded([&] {
    const auto queue = queueOf(stream);
    advanceStreams();
    const int32_t complete = 0, not_ready = 1;
    given(status) = queue->isIdle() ? complete : not_ready;
  });
}
NPUSIM_API int aclrtSetStreamFailureMode(Stream stream, uint64_t) { return checkStream(stream); }
// The id of a stream is always the same number.
NPUSIM_API int aclrtStreamGetId(Stream stream, int32_t* id) {
  return guarded([&] {
    requireStream(stream);
    given(id) = 0;
  });
}

NPUSIM_API int aclrtSetStreamOverflowSwitch(Stream stream, uint32_t flag) {
  return guarded([&] { opened<SimulatedStream>(stream)->overflow_switch = flag; });
}
NPUSIM_API int aclrtGetStreamOverflowSwitch(Stream stream, uint32_t* flag) {
  return guarded([&] { given(flag) = opened<SimulatedStream>(stream)->overflow_switch; });
}

// Host callbacks: none waits for a thread to process it.
NPUSIM_API int aclrtSubscribeReport(uint64_t, Stream stream) { return checkStream(stream); }
NPUSIM_API int aclrtUnSubscribeReport(uint64_t, Stream stream) {
  return checkStream(stream);
}
NPUSIM_API int aclrtLaunchCallback(HostFunction function, void* data, int, Stream stream) {
  return launch(stream, function, data);
}
NPUSIM_API int aclrtLaunchHostFunc(Stream stream, HostFunction function, void* data) {
  return launch(stream, function, data);
}
NPUSIM_API int aclrtProcessReport(int32_t timeout_ms) {
  const int wait_timeout = 100036;
  timespec pause{timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
  if (timeout_ms > 0) nanosleep(&pause, nullptr);
  return wait_timeout;
}
