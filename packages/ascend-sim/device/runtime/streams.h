// SPDX-License-Identifier: Apache-2.0
// What is submitted to a stream goes to its queue, except while the stream is being captured in a
// graph: then the graph keeps it, and each replay carries it out.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "../core/handles.h"
#include "stream_queue.h"

namespace npusim {

using Work = std::function<void()>;

class Graph {
 public:
  static constexpr Kind kKind = Kind::Graph;
  using Steps = std::vector<Step>;

  // As they are now: a replay goes on with them while another thread changes the graph.
  std::shared_ptr<const Steps> steps() const;
  void add(Step step);
  void replace(size_t first, const Steps& others);  // throws Error beyond the end

 private:
  Steps& own();

  mutable std::mutex mutex_;
  std::shared_ptr<Steps> steps_ = std::make_shared<Steps>();
};

// Throws Error for what is neither a stream nor null, the default stream.
void requireStream(Stream stream);

// Null for the default stream, which cannot be captured, and for a stream that is not captured.
// Throws Error for anything that is no stream.
std::shared_ptr<Graph> captureOf(Stream stream);
inline bool isCaptured(Stream stream) { return captureOf(stream) != nullptr; }

void beginCapture(Stream stream, const std::shared_ptr<Graph>& graph);
// Makes `stream` part of the capture of `graph`, if that still goes on, until it ends.
void joinCapture(Stream stream, const Graph* graph);
void endCapture(const Graph* graph);

// Whether what is submitted may be carried out after the call has returned.
bool isDeferred(Stream stream);
void submit(Stream stream, Work work);
void submitStep(Stream stream, Step step);

}  // namespace npusim
