// SPDX-License-Identifier: Apache-2.0
// What is submitted to a stream is carried out at once, by the thread that submits it, unless a
// step must wait for something (aclrtValueWait). Then that step and all later ones of the stream
// are kept. They go on as soon as they can, carried out by whichever thread next submits, asks or
// waits for something.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

namespace npusim {

using Step = std::function<bool()>;  // false: not yet, to be tried again

class StreamQueue : public std::enable_shared_from_this<StreamQueue> {
 public:
  void take(Step step);
  bool isIdle();
  void advance();
  // Waits until nothing is kept; throws Error when that takes longer, and what a kept step threw.
  void synchronize(int64_t milliseconds);
  void throwFailure();

 private:
  void keep(Step step);

  std::mutex mutex_;
  std::deque<Step> kept_;
  bool busy_ = false;  // a thread carries out kept steps
  std::exception_ptr failure_;
};

void advanceStreams();  // all that can go on
void synchronizeStreams(int64_t milliseconds);

// Waits until `done`, while streams go on; false if that takes longer. A negative time is for ever.
bool waitUntil(const std::function<bool()>& done, int64_t milliseconds);

}  // namespace npusim
