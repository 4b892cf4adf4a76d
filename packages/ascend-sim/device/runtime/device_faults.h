// SPDX-License-Identifier: Apache-2.0
// A kernel that fails while it runs has been launched already: the host hears of it when it waits
// for the device, and again each time until the device is reset. What is launched in between is
// not carried out, as torch_npu asks of each stream (aclrtSetStreamFailureMode).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace npusim {

// Carries out the work of an operator on the current device, and keeps its DeviceFault.
void launch(const std::string& name, const std::function<void()>& work);
void requireNoFault();  // throws that of the current device
void forgetFault(int32_t device);

}  // namespace npusim
