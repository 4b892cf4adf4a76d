// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

namespace npusim {
namespace {
thread_local std::string unread_message;
thread_local std::string read_message;
}  // namespace

int report(int code, const std::string& message) {
  unread_message = "npusim: " + message + " (error " + std::to_string(code) + ")";
  return code;
}

}  // namespace npusim

// Reading empties the message, as on hardware; the text stays valid until the next call.
NPUSIM_API const char* aclGetRecentErrMsg() {
  npusim::read_message.swap(npusim::unread_message);
  npusim::unread_message.clear();
  return npusim::read_message.empty() ? nullptr : npusim::read_message.c_str();
}
