// SPDX-License-Identifier: Apache-2.0
// What npu-smi prints, in the vendor's layouts.
#pragma once

#include <string>

#include "host.h"

namespace npusim {

// What is asked for: of one card, or of one chip of it, or -1 of all.
struct Selection {
  int card = -1;
  int chip = -1;
  int seconds = 1;  // between two lines of `watch`
  bool has(const Chip& each) const {
    return (card < 0 || each.npu == static_cast<uint32_t>(card)) &&
           (chip < 0 || each.number == static_cast<uint32_t>(chip));
  }
};

void showDevices(const Host& host);
void showList(const Host& host);
void showMapping(const Host& host);
void showTopology(const Host& host);
void showBoard(const Host& host, const Selection& selection);
void showUsages(const Host& host, const Selection& selection);
void showMemory(const Host& host, const Selection& selection);
void showHealth(const Host& host, const Selection& selection);
void watch(const Selection& selection);  // until it is stopped

}  // namespace npusim
