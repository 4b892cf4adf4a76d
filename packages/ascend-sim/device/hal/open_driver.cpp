// SPDX-License-Identifier: Apache-2.0
#include "open_driver.h"

#include <dlfcn.h>
#include <link.h>

namespace npusim {
namespace {

std::string pathOf(void* library) {
  link_map* entry = nullptr;
  const bool known = dlinfo(library, RTLD_DI_LINKMAP, &entry) == 0 && entry->l_name[0] != '\0';
  return known ? entry->l_name : kDriverLibrary;
}

template <class Function>
Function functionOf(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

void requireOurs(void* library, const std::string& user) {
  auto protocol = functionOf<GetProtocol>(library, kProtocolFunction);
  if (protocol == nullptr) {
    throw ForeignDriver(pathOf(library) + " is not the simulated driver, and this " + user +
                        " is simulated: it cannot use an NPU, and does not compute on the CPU in "
                        "its place. Mount the simulated driver (build.py run --simulate), or use "
                        "an image with the vendor's CANN.");
  }
  const uint32_t found = protocol();
  if (found != kDriverProtocol) {
    throw ForeignDriver(pathOf(library) + " is a simulated driver of protocol " +
                        std::to_string(found) + ", and this " + user + " needs protocol " +
                        std::to_string(kDriverProtocol) +
                        ". Make both with one version of cannery (build.py --simulate).");
  }
}

}  // namespace

std::optional<Driver> openDriver(const std::string& user) {
  void* library = dlopen(kDriverLibrary, RTLD_NOW);
  if (library == nullptr) return std::nullopt;
  requireOurs(library, user);
  return Driver{functionOf<GetDeviceNumber>(library, "drvGetDevNum"),
                functionOf<GetChipInfo>(library, "halGetChipInfo"),
                functionOf<GetMemoryInfo>(library, "halMemGetInfo"),
                functionOf<GetHostIdentity>(library, "npusim_driver_host"),
                functionOf<GetUsers>(library, "npusim_driver_users"),
                functionOf<GetChipFacts>(library, "npusim_driver_chip")};
}

}  // namespace npusim
