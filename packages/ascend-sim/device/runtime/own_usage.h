// SPDX-License-Identifier: Apache-2.0
// The record that this process keeps of its use of devices, for npu-smi (hal/usage.h).
#pragma once

#include <cstdint>

namespace npusim {

// `device` is the id on the host. Does nothing where no record can be kept.
void noteOpened(int32_t device);
void noteBytes(int32_t device, uint64_t bytes);

}  // namespace npusim
