// SPDX-License-Identifier: Apache-2.0
// What the generated stubs call (see gen_stubs.py).
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "acl_types.h"

extern "C" int npusim_missing(const char* name) {
  static std::mutex mutex;
  static std::set<std::string>* told = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  if (told->insert(name).second) std::fprintf(stderr, "npusim: %s is not implemented\n", name);
  return npusim::kNotSupported;
}
