// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

namespace npusim {
namespace {
// A thread's messages are never destroyed: the old glibc that must do cannot call back at its end.
struct Messages {
  std::string unread, read;
};

Messages& messages() {
  thread_local auto* own = new Messages;
  return *own;
}

}  // namespace

int report(int code, const std::string& message) {
  messages().unread = "npusim: " + message + " (error " + std::to_string(code) + ")";
  return code;
}

}  // namespace npusim

// Reading empties the message, as on hardware; the text stays valid until the next call.
NPUSIM_API const char* aclGetRecentErrMsg() {
  auto& [unread, read] = npusim::messages();
  read.swap(unread);
  unread.clear();
  return read.empty() ? nullptr : read.c_str();
}
