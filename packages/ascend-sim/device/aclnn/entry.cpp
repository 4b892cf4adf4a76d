// SPDX-License-Identifier: Apache-2.0
#include "entry.h"

#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <utility>

#include "../runtime/device_faults.h"
#include "../runtime/devices.h"
#include "../runtime/streams.h"

namespace npusim {
namespace {

bool isDirectory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Directory names of the vendor's kernel packages; the first prefix that fits counts.
std::string kernelFamily(const std::string& soc) {
  static const std::pair<const char*, const char*> families[] = {
      {"Ascend910B", "ascend910b"}, {"Ascend910_93", "ascend910_93"}, {"Ascend310P", "ascend310p"},
      {"Ascend310B", "ascend310b"}, {"Ascend910", "ascend910"},
  };
  for (const auto& [prefix, family] : families) {
    if (soc.rfind(prefix, 0) == 0) return family;
  }
  return "unknown-soc";
}

std::string kernelDirectory() {
  const char* opp = std::getenv("ASCEND_OPP_PATH");
  if (opp == nullptr || *opp == '\0') {
    throw Error(kAclnnNoKernelPackage, "ASCEND_OPP_PATH is not set: no operator kernels for " +
                                           socName() + ": source set_env.sh");
  }
  return std::string(opp) + "/built-in/op_impl/ai_core/tbe/kernel/" + kernelFamily(socName());
}

}  // namespace

void requireKernels() {
  static std::atomic<bool> found{false};  // looked for again only while there are none
  if (found) return;
  requireDriver(kDriverError);
  std::string directory = kernelDirectory();
  found = isDirectory(directory);
  if (!found) {
    throw Error(kAclnnNoKernelPackage, "no operator kernels for " + socName() + " under " +
                                           directory + ": install Ascend-cann-kernels");
  }
}

int execute(const char* name, void* executor, Stream stream) noexcept {
  return guarded([&] {
    const auto planned = withdrawn<Executor>(executor);
    requireCard();
    if (isDeferred(stream)) {
      const auto work = planned->record ? planned->record() : planned->run;
      submit(stream, [=] { launch(name, work); });
    } else {
      launch(name, planned->run);
      advanceStreams();
    }
  });
}

}  // namespace npusim
