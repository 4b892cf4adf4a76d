// SPDX-License-Identifier: Apache-2.0
// Deliberate faults, for tests of what people build on top (docs/simulator.md lists them): the
// variable NPUSIM_FAULT has some, separated by commas, and the file that NPUSIM_FAULT_FILE names
// has one a line. The file is read again when it changes, so that a fault can begin at any time.
#pragma once

#include <cstdint>
#include <memory>

namespace npusim {

struct Faults {
  bool wrong_products = false;
  bool hidden_devices = false;
  bool driver_too_old = false;
  bool processes_left = false;
  int64_t dcmi_status = 0;  // -8005 or -8020
  int64_t lost_card = -1;
  int64_t memory_mb = -1;
  int64_t nan_product = -1;  // the number of the matrix product that is NaN, from 1
  int64_t slow_rank = -1, slow_ms = 0;
  int64_t flap_every = 0, flap_seconds = 0;
};

// Nothing where no fault is asked for.
std::shared_ptr<const Faults> activeFaults();

bool faultyMatmul();
bool nanMatmul();  // to be asked once for each matrix product
bool hiddenDevices();
bool leftoverProcesses();
int64_t lostCard();           // or -1
int64_t memoryLimitOfFault();  // bytes, or -1
// What the driver's tools answer instead of opening a device: -8005, -8020 or 0.
int64_t dcmiStatus();
bool driverTooOld();
// Waits where the link flaps or the rank is slow; to be called at the start of each collective.
void disturbCollective(uint32_t rank);

}  // namespace npusim
