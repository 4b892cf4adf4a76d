// SPDX-License-Identifier: Apache-2.0
// Deliberate faults, for tests that must prove they can fail: NPUSIM_FAULT=matmul or devices=0.
#pragma once

namespace npusim {

bool faultyMatmul();
bool hiddenDevices();

}  // namespace npusim
