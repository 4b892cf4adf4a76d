// SPDX-License-Identifier: Apache-2.0
// Nothing here asks the interpreter of this process for anything that needs its lock.
#include "worker_process.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "../core/errors.h"

extern char** environ;

namespace npusim {
namespace {

// sys.executable. Python 3.15 no longer has the function: then a virtual environment is not seen,
// and PyTorch is found by the folder that it was loaded from.
std::string pythonProgram() {
  using ProgramPath = const wchar_t* (*)();
  const auto ask = reinterpret_cast<ProgramPath>(dlsym(RTLD_DEFAULT, "Py_GetProgramFullPath"));
  const wchar_t* wide = ask != nullptr ? ask() : nullptr;
  char path[PATH_MAX];
  const size_t length = wide != nullptr ? wcstombs(path, wide, sizeof path) : 0;
  const bool usable = length > 0 && length < sizeof path && access(path, X_OK) == 0;
  return usable ? path : "/proc/self/exe";
}

// worker.py beside this library, wherever the links to the library lead from.
std::string workerScript() {
  Dl_info info{};
  char path[PATH_MAX];
  if (dladdr(reinterpret_cast<void*>(&workerScript), &info) == 0 ||
      realpath(info.dli_fname, path) == nullptr) {
    throw Error(kInternalError, "the place of this library is unknown");
  }
  const std::string file = path;
  return file.substr(0, file.rfind('/')) + "/npusim_torch/worker.py";
}

int noteTorch(dl_phdr_info* library, size_t, void* folder) {
  const std::string path = library->dlpi_name != nullptr ? library->dlpi_name : "";
  const size_t end = path.find("/torch/lib/libtorch");
  if (end == std::string::npos) return 0;
  *static_cast<std::string*>(folder) = path.substr(0, end);
  return 1;
}

// The folder of the PyTorch that this process has loaded, or nothing.
std::string torchFolder() {
  std::string folder;
  dl_iterate_phdr(noteTorch, &folder);
  return folder;
}

// Without torch_npu, which torch would load by itself.
std::vector<char*> workerEnvironment() {
  static char autoload[] = "TORCH_DEVICE_BACKEND_AUTOLOAD=0";
  static char mark[] = "NPUSIM_WORKER=1";
  std::vector<char*> all;
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::strcmp(*each, mark) == 0) {
      throw Error(kInternalError, "this process is a worker: its program is no Python");
    }
    if (std::strncmp(*each, autoload, sizeof autoload - 2) != 0) all.push_back(*each);
  }
  all.insert(all.end(), {autoload, mark, nullptr});
  return all;
}

// The script leaves this process at once, so that the program never meets a child of its own that
// it does not know: the child that is waited for here ends when the worker has begun.
void spawn(int socket) {
  const int end = socket == 3 ? 4 : 3;
  std::string words[] = {pythonProgram(), workerScript(), std::to_string(end), torchFolder()};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(&word[0]);
  arguments.push_back(nullptr);
  std::vector<char*> environment = workerEnvironment();

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, socket, end);
  posix_spawnattr_t settings;
  posix_spawnattr_init(&settings);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&settings, &none);
  posix_spawnattr_setflags(&settings, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failure = posix_spawn(&child, words[0].c_str(), &files, &settings, arguments.data(),
                                  environment.data());
  posix_spawnattr_destroy(&settings);
  posix_spawn_file_actions_destroy(&files);
  if (failure != 0) {
    throw Error(kInternalError, words[0] + " cannot be started: " + std::strerror(failure));
  }
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace

int startWorkerProcess() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(kInternalError, "no connection to a worker can be opened");
  }
  try {
    spawn(ends[1]);
  } catch (const Error&) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
  return ends[0];
}

}  // namespace npusim
