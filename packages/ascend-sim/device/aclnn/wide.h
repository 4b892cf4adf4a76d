// SPDX-License-Identifier: Apache-2.0
// WIDE("fma") marks a function that is compiled for processors with that feature as well.
#pragma once

#ifdef __x86_64__
#define WIDE(...) __attribute__((target_clones(__VA_ARGS__, "default")))
#else
#define WIDE(...)
#endif
