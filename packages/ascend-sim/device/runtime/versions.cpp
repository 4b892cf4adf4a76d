// SPDX-License-Identifier: Apache-2.0
// The release of CANN, by which torch_npu chooses between the forms of an operator. It is read from
// the toolkit's ascend_toolkit_install.info; where there is none, the release is unknown, as it is
// with releases before 8.1.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "../core/errors.h"

using namespace npusim;

namespace {

constexpr int kInvalidFile = 100003;
constexpr int kPackageDriver = 7;

#if defined(__aarch64__)
constexpr const char* kInstallInfo = "/aarch64-linux/ascend_toolkit_install.info";
#else
constexpr const char* kInstallInfo = "/x86_64-linux/ascend_toolkit_install.info";
#endif

struct PackageVersion {
  char version[128];
  char parts[4][64];  // major, minor, release, patch
  char reserved[128];
};

// Empty where it is unknown.
std::string release() {
  const char* home = std::getenv("ASCEND_HOME_PATH");
  std::ifstream file(std::string(home ? home : "") + kInstallInfo);
  const std::string key = "version=";
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) == 0) return line.substr(key.size());
  }
  return "";
}

template <size_t size>
void write(char (&field)[size], const std::string& text) {
  std::strncpy(field, text.c_str(), size - 1);
}

}  // namespace

NPUSIM_API int aclsysGetCANNVersion(int package, PackageVersion* version) {
  if (version == nullptr || package < 0 || package > kPackageDriver) return kInvalidParam;
  static const std::string found = release();
  if (found.empty() || package == kPackageDriver) return kInvalidFile;
  *version = {};
  write(version->version, found);
  size_t start = 0;
  for (auto& part : version->parts) {
    if (start > found.size()) break;
    const size_t end = std::min(found.find('.', start), found.size());
    write(part, found.substr(start, end - start));
    start = end + 1;
  }
  return kSuccess;
}
