// SPDX-License-Identifier: Apache-2.0
// Streams and events. Every call is carried out before it returns, so a stream is always empty and
// a recorded event is always complete.
#include <time.h>

#include <memory>

#include "../core/handles.h"

using namespace npusim;

namespace {

struct SimulatedStream {
  static constexpr Kind kKind = Kind::Stream;
  uint32_t overflow_switch = 0;
};

struct Event {
  static constexpr Kind kKind = Kind::Event;
  double recorded_ms = 0;
};

double nowInMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

int createStream(Stream* stream) {
  return guarded([&] { *stream = publish(std::make_unique<SimulatedStream>()); });
}

int createEvent(void** event) {
  return guarded([&] { *event = publish(std::make_unique<Event>()); });
}

int checkStream(Stream stream) {  // a null stream is the default stream
  return guarded([&] {
    if (stream != nullptr) opened<SimulatedStream>(stream);
  });
}

int complete(void* event, int32_t* status, int32_t completed) {
  return guarded([&] {
    opened<Event>(event);
    *status = completed;
  });
}

}  // namespace

NPUSIM_API int aclrtCreateStream(Stream* stream) { return createStream(stream); }
NPUSIM_API int aclrtCreateStreamWithConfig(Stream* stream, uint32_t, uint32_t) {
  return createStream(stream);
}
NPUSIM_API int aclrtDestroyStream(Stream stream) {
  return guarded([&] { withdrawn<SimulatedStream>(stream); });
}
NPUSIM_API int aclrtDestroyStreamForce(Stream stream) { return aclrtDestroyStream(stream); }

NPUSIM_API int aclrtSynchronizeDevice() { return kSuccess; }
NPUSIM_API int aclrtSynchronizeDeviceWithTimeout(int32_t) { return kSuccess; }
NPUSIM_API int aclrtSynchronizeStream(Stream stream) { return checkStream(stream); }
NPUSIM_API int aclrtSynchronizeStreamWithTimeout(Stream stream, int32_t) {
  return checkStream(stream);
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

NPUSIM_API int aclrtCreateEvent(void** event) { return createEvent(event); }
NPUSIM_API int aclrtCreateEventWithFlag(void** event, uint32_t) { return createEvent(event); }
NPUSIM_API int aclrtCreateEventExWithFlag(void** event, uint32_t) { return createEvent(event); }
NPUSIM_API int aclrtDestroyEvent(void* event) {
  return guarded([&] { withdrawn<Event>(event); });
}
NPUSIM_API int aclrtRecordEvent(void* event, Stream) {
  return guarded([&] { opened<Event>(event).recorded_ms = nowInMilliseconds(); });
}
NPUSIM_API int aclrtResetEvent(void* event, Stream) {
  return guarded([&] { opened<Event>(event); });
}
NPUSIM_API int aclrtSynchronizeEvent(void* event) {
  return guarded([&] { opened<Event>(event); });
}
NPUSIM_API int aclrtStreamWaitEvent(Stream stream, void* event) {
  return guarded([&] {
    opened<Event>(event);
    if (stream != nullptr) opened<SimulatedStream>(stream);
  });
}
NPUSIM_API int aclrtQueryEvent(void* event, int32_t* status) { return complete(event, status, 0); }
NPUSIM_API int aclrtQueryEventStatus(void* event, int32_t* status) {
  return complete(event, status, 1);
}
NPUSIM_API int aclrtQueryEventWaitStatus(void* event, int32_t* status) {
  return complete(event, status, 0);
}
NPUSIM_API int aclrtEventElapsedTime(float* milliseconds, void* start, void* end) {
  return guarded([&] {
    double elapsed = opened<Event>(end).recorded_ms - opened<Event>(start).recorded_ms;
    *milliseconds = static_cast<float>(elapsed);
  });
}

// Host callbacks: nothing is ever pending.
NPUSIM_API int aclrtSubscribeReport(uint64_t, Stream) { return kSuccess; }
NPUSIM_API int aclrtUnSubscribeReport(uint64_t, Stream) { return kSuccess; }
NPUSIM_API int aclrtLaunchCallback(void (*callback)(void*), void* data, int, Stream) {
  callback(data);
  return kSuccess;
}
NPUSIM_API int aclrtLaunchHostFunc(Stream, void (*callback)(void*), void* data) {
  callback(data);
  return kSuccess;
}
NPUSIM_API int aclrtProcessReport(int32_t timeout_ms) {
  const int wait_timeout = 100036;
  timespec pause{timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
  if (timeout_ms > 0) nanosleep(&pause, nullptr);
  return wait_timeout;
}
