// SPDX-License-Identifier: Apache-2.0
// What is submitted to a stream is carried out at once, except while the stream is being captured
// in a graph: then it is kept, and carried out at each replay.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "../core/handles.h"

namespace npusim {

using Work = std::function<void()>;

struct Graph {
  static constexpr Kind kKind = Kind::Graph;
  std::vector<Work> works;
};

// Null for the default stream, which cannot be captured, and for a stream that is not captured.
// Throws Error for anything that is no stream.
Graph* captureOf(Stream stream);
inline bool isCaptured(Stream stream) { return captureOf(stream) != nullptr; }

void beginCapture(Stream stream, Graph* graph);
// Makes `stream` part of the capture of `graph`, if that still goes on, until it ends.
void joinCapture(Stream stream, Graph* graph);
void endCapture(Graph* graph);

void submit(Stream stream, Work work);

}  // namespace npusim
