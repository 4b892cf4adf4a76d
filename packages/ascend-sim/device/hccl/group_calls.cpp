// SPDX-License-Identifier: Apache-2.0
#include "group_calls.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "../runtime/streams.h"

namespace npusim {
namespace {

struct Messages {
  void* comm;
  Stream stream;  // of the first call
  std::vector<Part> sends, receives;
};

struct Group {
  int depth = 0;
  std::vector<Messages> messages;
  std::vector<std::pair<Stream, std::function<void()>>> operations;
};

std::mutex mutex;

// The group that is open; its depth is 0 where there is none. The caller holds the mutex.
Group& current() {
  static auto* group = new Group;
  return *group;
}

Messages& messagesOf(void* comm, Stream stream) {
  auto& all = current().messages;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Messages& each) { return each.comm == comm; });
  if (found != all.end()) return *found;
  all.push_back({comm, stream, {}, {}});
  return all.back();
}

void append(std::vector<Part>& parts, const std::vector<Part>& more) {
  std::copy(more.begin(), more.end(), std::back_inserter(parts));
}

void submitMessages(const Messages& messages) {
  submit(messages.stream, [=] {
    opened<Communicator>(messages.comm)->transfer(messages.sends, messages.receives);
  });
}

// What the group has, if this ends it.
Group ended() {
  std::lock_guard<std::mutex> lock(mutex);
  if (current().depth == 0) {
    throw Error(kHcclNotSupported, "HcclGroupEnd without HcclGroupStart");
  }
  if (--current().depth > 0) return {};
  return std::exchange(current(), {});
}

}  // namespace

void issue(Stream stream, std::function<void()> operation) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (current().depth > 0) {
      current().operations.emplace_back(stream, std::move(operation));
      return;
    }
  }
  submit(stream, std::move(operation));
}

void issueMessages(void* comm, Stream stream, const std::vector<Part>& sends,
                   const std::vector<Part>& receives) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (current().depth > 0) {
      Messages& messages = messagesOf(comm, stream);
      append(messages.sends, sends);
      append(messages.receives, receives);
      return;
    }
  }
  submitMessages({comm, stream, sends, receives});
}

}  // namespace npusim

using namespace npusim;

NPUSIM_API int HcclGroupStart() {
  return guarded([] {
    std::lock_guard<std::mutex> lock(mutex);
    ++current().depth;
  });
}

NPUSIM_API int HcclGroupEnd() {
  return guarded([] {
    const Group group = ended();
    for (const Messages& each : group.messages) submitMessages(each);
    for (const auto& [stream, operation] : group.operations) submit(stream, operation);
  });
}
