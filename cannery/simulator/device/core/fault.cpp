// SPDX-License-Identifier: Apache-2.0
#include "fault.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace npusim {
namespace {

const std::string& requestedFault() {
  static const std::string fault = [] {
    const char* value = std::getenv("NPUSIM_FAULT");
    std::string text = value ? value : "";
    if (!text.empty() && text != "matmul" && text != "devices=0") {
      std::fprintf(stderr, "npusim: NPUSIM_FAULT=%s is ignored: use 'matmul' or 'devices=0'\n",
                   text.c_str());
      text.clear();
    }
    return text;
  }();
  return fault;
}

}  // namespace

bool faultyMatmul() { return requestedFault() == "matmul"; }
bool hiddenDevices() { return requestedFault() == "devices=0"; }

}  // namespace npusim
