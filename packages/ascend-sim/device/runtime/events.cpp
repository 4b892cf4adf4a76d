// SPDX-License-Identifier: Apache-2.0
// Events. One is complete when its stream has got to where it was recorded: at once, unless the
// stream waits. Until then it is not: torch_npu's watchdog tells by that which collective hangs.
#include <time.h>

#include <atomic>
#include <functional>
#include <memory>

#include "../core/handles.h"
#include "device_faults.h"
#include "streams.h"

using namespace npusim;

namespace {

struct Event {
  static constexpr Kind kKind = Kind::Event;
  std::atomic<double> recorded_ms{0};
  std::atomic<bool> recorded{false};
  std::atomic<uint64_t> asked{0}, done{0};  // how often it was to be recorded, and was
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

// Whether the event is recorded as often as had been asked for by now.
std::function<bool()> caughtUp(const std::shared_ptr<Event>& event) {
  return [event, asked = event->asked.load()] { return event->done >= asked; };
}

int tellStatus(void* event, int32_t* status, int32_t complete, int32_t pending) {
  return guarded([&] {
    const auto own = opened<Event>(event);
    advanceStreams();
    given(status) = own->recorded && caughtUp(own)() ? complete : pending;
  });
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
    const auto graph = captureOf(stream);
    own->graph = graph.get();
    ++own->asked;
    // Called when the stream gets there, or when it is destroyed before that.
    std::shared_ptr<void> passed(nullptr, [own](void*) {
      own->recorded_ms = nowInMilliseconds();
      own->recorded = true;
      ++own->done;
    });
    if (graph != nullptr) return;  // a graph needs no events inside
    submitStep(stream, [passed = std::move(passed)]() mutable {
      passed.reset();
      return true;
    });
  });
}
NPUSIM_API int aclrtResetEvent(void* event, Stream stream) {
  return guarded([&] {
    const auto own = opened<Event>(event);
    const Work reset = [own] { own->recorded = false; };
    if (isCaptured(stream)) return reset();
    submit(stream, reset);
  });
}
NPUSIM_API int aclrtSynchronizeEvent(void* event) {
  return guarded([&] {
    const int64_t for_ever = -1;
    waitUntil(caughtUp(opened<Event>(event)), for_ever);
    requireNoFault();
  });
}

// A stream that waits for a captured one becomes part of the same graph.
NPUSIM_API int aclrtStreamWaitEvent(Stream stream, void* event) {
  return guarded([&] {
    const auto own = opened<Event>(event);
    const auto recorded = caughtUp(own);
    if (stream != nullptr) joinCapture(stream, own->graph);
    if (!recorded()) submitStep(stream, recorded);
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
