// SPDX-License-Identifier: Apache-2.0
#include "usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>

namespace npusim {
namespace {

std::vector<std::string> namesIn(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') names.emplace_back(entry->d_name);
  }
  return names;
}

bool isUsageFile(const std::string& path) {
  char target[64] = {};
  const std::string wanted = std::string("/memfd:") + kUsageFile;
  return readlink(path.c_str(), target, sizeof target - 1) > 0 &&
         std::strncmp(target, wanted.c_str(), wanted.size()) == 0;
}

// Reads the record behind `path`; its inode says whether two processes hold the same one.
bool readRecord(const std::string& path, UsageRecord* record, uint64_t* inode) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat status {};
  const bool read = fstat(file, &status) == 0 &&
                    pread(file, record, sizeof *record, 0) == static_cast<ssize_t>(sizeof *record);
  close(file);
  *inode = status.st_ino;
  return read;
}

void nameProcess(ProcessUsage& user) {
  std::ifstream file("/proc/" + std::to_string(user.process) + "/comm");
  std::string name;
  std::getline(file, name);
  std::snprintf(user.name, sizeof user.name, "%s", name.c_str());
}

std::vector<int32_t> processes() {
  std::vector<int32_t> ids;
  for (const std::string& name : namesIn("/proc")) ids.push_back(std::atoi(name.c_str()));
  std::sort(ids.begin(), ids.end());  // a parent, which is older, before its children
  return ids;
}

}  // namespace

std::vector<ProcessUsage> usersOf(uint64_t host, uint32_t device) {
  std::vector<ProcessUsage> users;
  std::set<uint64_t> seen;
  for (int32_t process : processes()) {
    const std::string files = "/proc/" + std::to_string(process) + "/fd/";
    for (const std::string& name : namesIn(files)) {
      UsageRecord record{};
      uint64_t inode = 0;
      if (!isUsageFile(files + name) || !readRecord(files + name, &record, &inode)) continue;
      if (record.host != host || record.opened[device] == 0 || !seen.insert(inode).second) continue;
      ProcessUsage user{process, record.bytes[device], ""};
      nameProcess(user);
      users.push_back(user);
    }
  }
  return users;
}

}  // namespace npusim
