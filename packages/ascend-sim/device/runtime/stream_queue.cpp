// SPDX-License-Identifier: Apache-2.0
#include "stream_queue.h"

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "../core/errors.h"

namespace npusim {
namespace {

constexpr int kStreamTimeout = 507046;

// The queues that keep steps. A stream that is destroyed takes its steps with it.
struct Waiting {
  std::mutex mutex;
  std::set<std::weak_ptr<StreamQueue>, std::owner_less<>> queues;
};

Waiting& waiting() {
  static auto* instance = new Waiting;
  return *instance;
}

std::atomic<bool> anything_kept{false};  // spares every call the mutex

std::vector<std::shared_ptr<StreamQueue>> waitingQueues() {
  std::vector<std::shared_ptr<StreamQueue>> found;
  std::lock_guard<std::mutex> lock(waiting().mutex);
  for (const auto& each : waiting().queues) {
    if (auto queue = each.lock()) found.push_back(std::move(queue));
  }
  return found;
}

void forgetIdleQueues() {
  std::lock_guard<std::mutex> lock(waiting().mutex);
  auto& queues = waiting().queues;
  for (auto each = queues.begin(); each != queues.end();) {
    const auto queue = each->lock();
    each = queue == nullptr || queue->isIdle() ? queues.erase(each) : std::next(each);
  }
  anything_kept = !queues.empty();
}

[[noreturn]] void throwTimeout() {
  throw Error(kStreamTimeout, "a stream still waits at the end of the time given");
}

}  // namespace

// Where nothing is kept, several threads carry out steps of one stream at the same time.
void StreamQueue::take(Step step) {
  if (isIdle() && step()) return;
  keep(std::move(step));
  advance();
}

void StreamQueue::keep(Step step) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    kept_.push_back(std::move(step));
  }
  std::lock_guard<std::mutex> lock(waiting().mutex);
  waiting().queues.insert(weak_from_this());
  anything_kept = true;
}

bool StreamQueue::isIdle() {
  std::lock_guard<std::mutex> lock(mutex_);
  return kept_.empty() && !busy_;
}

void StreamQueue::advance() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (busy_) return;
  busy_ = true;
  bool done = true;
  while (done && !kept_.empty()) {
    Step step = std::move(kept_.front());
    kept_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      done = step();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    if (!done) kept_.push_front(std::move(step));
  }
  busy_ = false;
}

void StreamQueue::synchronize(int64_t milliseconds) {
  if (!waitUntil([this] { return isIdle(); }, milliseconds)) throwTimeout();
  throwFailure();
}

void StreamQueue::throwFailure() {
  std::exception_ptr failure;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::swap(failure, failure_);
  }
  if (failure) std::rethrow_exception(failure);
}

void advanceStreams() {
  if (!anything_kept) return;
  for (const auto& queue : waitingQueues()) queue->advance();
  forgetIdleQueues();
}

void synchronizeStreams(int64_t milliseconds) {
  const auto queues = waitingQueues();
  if (!waitUntil([] { return !anything_kept; }, milliseconds)) throwTimeout();
  for (const auto& queue : queues) queue->throwFailure();
}

bool waitUntil(const std::function<bool()>& done, int64_t milliseconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  while (true) {
    advanceStreams();
    if (done()) return true;
    if (milliseconds >= 0 && Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace npusim
