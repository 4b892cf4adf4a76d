// SPDX-License-Identifier: Apache-2.0
// What npu-smi knows of the host: the devices that the driver library reports, and who uses them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../hal/usage.h"

namespace npusim {

struct Chip {
  uint32_t physical;  // the id that the host knows it by
  uint32_t npu;       // the card that it is on, and its number there
  uint32_t number;
  std::string bus;
  uint64_t used_mb;
  std::vector<ProcessUsage> users;
};

struct Host {
  std::string driver_version;  // ends in -sim
  std::string name;            // of the chips: 910B3, 910_9392
  bool two_chips;              // on each card, as on an Atlas A3
  uint64_t hbm_mb;
  std::vector<Chip> chips;  // without one that is lost

  // As npu-smi writes it: the chips of a card with two have a name of their own.
  std::string shownName() const { return two_chips ? "Ascend910" : name; }
  uint32_t chipsPerCard() const { return two_chips ? 2 : 1; }
  std::vector<uint32_t> cards() const;  // their ids
};

// Throws ForeignDriver when the driver library is not the simulator's, and std::runtime_error when
// there is none or it has no device.
Host readHost();

}  // namespace npusim
