// SPDX-License-Identifier: Apache-2.0
// What npu-smi knows of the host: the devices that the driver library reports, and who uses them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../hal/driver_api.h"
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

// Of the tables: each generation has its own.
enum class Layout { Atlas, AtlasA3, Inference, Ascend950 };

struct Host {
  std::string driver_version;  // ends in -sim
  ChipFacts chip;              // of all of them
  uint64_t memory_mb;          // of each
  std::vector<Chip> chips;  // without one that is lost

  Layout layout() const;
  bool hasHbm() const;
  std::vector<uint32_t> cards() const;  // their ids
};

// Throws ForeignDriver when the driver library is not the simulator's, and std::runtime_error when
// there is none or it has no device.
Host readHost();

}  // namespace npusim
