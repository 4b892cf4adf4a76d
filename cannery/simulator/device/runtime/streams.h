// SPDX-License-Identifier: Apache-2.0
// What is submitted to a stream is carried out at once, except while the stream is being captured
// in a graph: then it is kept, and carried out at each replay.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "../core/handles.h"

namespace npusim {

using Work = std::function<void()>;

class Graph {
 public:
  static constexpr Kind kKind = Kind::Graph;
  using Works = std::vector<Work>;

  // As they are now: a replay goes on with them while another thread changes the graph.
  std::shared_ptr<const Works> works() const;
  void add(Work work);
  void replace(size_t first, const Works& others);  // throws Error beyond the end

 private:
  Works& own();

  mutable std::mutex mutex_;
  std::shared_ptr<Works> works_ = std::make_shared<Works>();
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

void submit(Stream stream, Work work);

}  // namespace npusim
