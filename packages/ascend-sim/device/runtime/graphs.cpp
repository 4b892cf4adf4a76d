// SPDX-License-Identifier: Apache-2.0
// Graphs captured from streams: everything submitted between begin and end is kept, and carried out
// at each replay, on the same memory. The calls of a task group can be replaced afterwards.
#include <cstdio>
#include <map>
#include <mutex>

#include "streams.h"

using namespace npusim;

namespace {

enum CaptureStatus : int32_t { kNone = 0, kActive = 1 };

struct TaskGroup {
  static constexpr Kind kKind = Kind::TaskGroup;
  std::shared_ptr<Graph> graph;
  size_t first, end;  // of the graph's steps
};

struct Update {
  std::shared_ptr<TaskGroup> group;
  std::shared_ptr<Graph> steps;
};

// Task groups that were begun, and updates of one, by their stream.
struct Open {
  std::mutex mutex;
  std::map<Stream, size_t> groups;
  std::map<Stream, Update> updates;
};

Open& open() {
  static auto* instance = new Open;
  return *instance;
}

template <class Value>
Value taken(std::map<Stream, Value>& from, Stream stream, const char* missing) {
  std::lock_guard<std::mutex> lock(open().mutex);
  auto found = from.find(stream);
  if (found == from.end()) throw Error(kInvalidParam, missing);
  Value value = std::move(found->second);
  from.erase(found);
  return value;
}

std::shared_ptr<Graph> requireCapture(Stream stream) {
  auto graph = captureOf(stream);
  if (graph == nullptr) throw Error(kInvalidParam, "the stream is not being captured");
  return graph;
}

// Each call is read when its turn has come: while a replay waits, a task group may be replaced.
Step replayed(void* handle) {
  return [graph = opened<Graph>(handle), at = size_t{0}]() mutable {
    while (true) {
      const auto steps = graph->steps();
      if (at >= steps->size()) return true;
      if (!(*steps)[at]()) return false;
      ++at;
    }
  };
}

}  // namespace

NPUSIM_API int aclmdlRICaptureBegin(Stream stream, int) {
  return guarded([&] {
    if (stream == nullptr) throw Error(kInvalidParam, "the default stream cannot be captured");
    auto graph = std::make_shared<Graph>();
    beginCapture(stream, graph);
    publish(std::move(graph));
  });
}

NPUSIM_API int aclmdlRICaptureGetInfo(Stream stream, int32_t* status, void** graph) {
  return guarded([&] {
    const auto captured = captureOf(stream);
    if (status != nullptr) *status = captured != nullptr ? kActive : kNone;
    if (graph != nullptr) *graph = captured.get();
  });
}

NPUSIM_API int aclmdlRICaptureEnd(Stream stream, void** graph) {
  return guarded([&] {
    const auto captured = requireCapture(stream);
    given(graph) = captured.get();
    endCapture(captured.get());
  });
}

NPUSIM_API int aclmdlRICaptureThreadExchangeMode(int*) { return kSuccess; }

NPUSIM_API int aclmdlRIExecuteAsync(void* graph, Stream stream) {
  return guarded([&] {
    if (isCaptured(stream)) throw Error(kNotSupported, "a replay cannot be captured in a graph");
    submitStep(stream, replayed(graph));
  });
}
NPUSIM_API int aclmdlRIExecute(void* graph, int32_t milliseconds) {
  return guarded([&] {
    const auto queue = std::make_shared<StreamQueue>();
    queue->take(replayed(graph));
    queue->synchronize(milliseconds);
  });
}

NPUSIM_API int aclmdlRIDestroy(void* graph) {
  return guarded([&] {
    endCapture(withdrawn<Graph>(graph).get());
  });
}

NPUSIM_API int aclmdlRIDebugPrint(void* graph) {
  return guarded([&] {
    std::fprintf(stderr, "npusim: a graph of %zu calls\n", opened<Graph>(graph)->steps()->size());
  });
}

NPUSIM_API int aclmdlRICaptureTaskGrpBegin(Stream stream) {
  return guarded([&] {
    const size_t first = requireCapture(stream)->steps()->size();
    std::lock_guard<std::mutex> lock(open().mutex);
    open().groups[stream] = first;
  });
}

NPUSIM_API int aclmdlRICaptureTaskGrpEnd(Stream stream, void** group) {
  return guarded([&] {
    given(group) = nullptr;
    const auto graph = requireCapture(stream);
    const size_t first = taken(open().groups, stream, "no task group was begun on the stream");
    *group = publish(std::make_shared<TaskGroup>(TaskGroup{graph, first, graph->steps()->size()}));
  });
}

NPUSIM_API int aclmdlRICaptureTaskUpdateBegin(Stream stream, void* handle) {
  return guarded([&] {
    auto group = opened<TaskGroup>(handle);
    opened<Graph>(group->graph.get());
    auto steps = std::make_shared<Graph>();
    beginCapture(stream, steps);
    std::lock_guard<std::mutex> lock(open().mutex);
    open().updates[stream] = {std::move(group), std::move(steps)};
  });
}

NPUSIM_API int aclmdlRICaptureTaskUpdateEnd(Stream stream) {
  return guarded([&] {
    Update update = taken(open().updates, stream, "no update was begun on the stream");
    endCapture(update.steps.get());
    const TaskGroup& group = *update.group;
    const auto steps = update.steps->steps();
    if (steps->size() != group.end - group.first) {
      throw Error(kInvalidParam, "the update of a task group has another number of calls");
    }
    opened<Graph>(group.graph.get())->replace(group.first, *steps);
  });
}
