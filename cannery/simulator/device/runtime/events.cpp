// SPDX-License-Identifier: Apache-2.0
// Events. Streams are empty at all times, so an event is complete as soon as it is recorded. Until
// then it is not: torch_npu's watchdog tells by that which collective hangs.
#include <time.h>

#include <atomic>
#include <memory>

#include "../core/handles.h"
#include "streams.h"

using namespace npusim;

namespace {

struct Event {
  static constexpr Kind kKind = Kind::Event;
  std::atomic<double> recorded_ms{0};
  std::atomic<bool> recorded{false};
  std::atomic<const Graph*> graph{nullptr};  // in whose capture it was recorded
};

double nowInMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

int createEvent(void** event) {
  return guarded([&] { given(event) = publish(std::make_shared<Event>()); });
}

int tellStatus(void* event, int32_t* status, int32_t complete, int32_t pending) {
  return guarded([&] { given(status) = opened<Event>(event)->recorded ? complete : pending; });
}

}  // namespace

NPUSIM_API int aclrtCreateEvent(void** event) { return createEvent(event); }
NPUSIM_API int aclrtCreateEventWithFlag(void** event, uint32_t) { return createEvent(event); }
NPUSIM_API int aclrtCreateEventExWithFlag(void** event, uint32_t) { return createEvent(event); }
NPUSIM_API int aclrtDestroyEvent(void* event) {
  return guarded([&] { withdrawn<Event>(event); });
}

NPUSIM_API int aclrtRecordEvent(void* event, Stream stream) {
  return guarded([&] {
    const auto own = opened<Event>(event);
    own->graph = captureOf(stream).get();
    own->recorded_ms = nowInMilliseconds();
    own->recorded = true;
  });
}
NPUSIM_API int aclrtResetEvent(void* event, Stream stream) {
  return guarded([&] {
    requireStream(stream);
    opened<Event>(event)->recorded = false;
  });
}
NPUSIM_API int aclrtSynchronizeEvent(void* event) {
  return guarded([&] { opened<Event>(event); });
}

// A stream that waits for a captured one becomes part of the same graph.
NPUSIM_API int aclrtStreamWaitEvent(Stream stream, void* event) {
  return guarded([&] {
    const Graph* graph = opened<Event>(event)->graph;
    if (stream != nullptr) joinCapture(stream, graph);
  });
}

NPUSIM_API int aclrtQueryEvent(void* event, int32_t* status) {
  return tellStatus(event, status, 0, 1);
}
NPUSIM_API int aclrtQueryEventStatus(void* event, int32_t* status) {
  return tellStatus(event, status, 1, 0);
}
NPUSIM_API int aclrtQueryEventWaitStatus(void* event, int32_t* status) {
  return tellStatus(event, status, 0, 1);
}
NPUSIM_API int aclrtEventElapsedTime(float* milliseconds, void* start, void* end) {
  return guarded([&] {
    const double elapsed = opened<Event>(end)->recorded_ms - opened<Event>(start)->recorded_ms;
    given(milliseconds) = static_cast<float>(elapsed);
  });
}
NPUSIM_API int aclrtEventGetTimestamp(void* event, uint64_t* microseconds) {
  return guarded([&] {
    given(microseconds) = static_cast<uint64_t>(opened<Event>(event)->recorded_ms * 1e3);
  });
}

// Between processes: whatever another one recorded is done when this one hears of it.
struct IpcEventHandle {
  char bytes[64];
};
NPUSIM_API int aclrtIpcGetEventHandle(void* event, IpcEventHandle* handle) {
  return guarded([&] {
    opened<Event>(event);
    given(handle) = {"npusim event"};
  });
}
NPUSIM_API int aclrtIpcOpenEventHandle(IpcEventHandle, void** event) {
  return guarded([&] {
    auto opened_event = std::make_shared<Event>();
    opened_event->recorded = true;
    given(event) = publish(std::move(opened_event));
  });
}
