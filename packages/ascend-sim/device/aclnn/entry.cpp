// SPDX-License-Identifier: Apache-2.0
#include "entry.h"

#include <sys/stat.h>

#include <atomic>
#include <cstdlib>

#include "../runtime/device_faults.h"
#include "../runtime/devices.h"
#include "../runtime/streams.h"
#include "promotion.h"

namespace npusim {
namespace {

bool isDirectory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

using Arguments = std::vector<Argument>;

// What is kept of a call between its two functions: handles, numbers, and copies of texts.
Arguments kept(const Signature& signature, const RawArgument* given) {
  Arguments arguments;
  arguments.reserve(signature.count);
  for (size_t i = 0; i < signature.count; ++i) {
    const bool text = given[i].type == RawArgument::Type::Text && given[i].text != nullptr;
    arguments.push_back({given[i], text ? std::make_shared<std::string>(given[i].text) : nullptr});
  }
  return arguments;
}

// The same with the objects of its handles, or with copies of them.
Arguments held(const Signature& signature, Arguments arguments, Parameter::Find Parameter::*how) {
  for (size_t i = 0; i < signature.count; ++i) {
    const Parameter& parameter = signature.parameters[i];
    const Parameter::Find find = parameter.*how;
    const void* handle = arguments[i].given.pointer;
    if (find == nullptr || (parameter.optional && handle == nullptr)) continue;
    arguments[i].object = find(handle);
  }
  return arguments;
}

void run(const Operation& operation, const Arguments& arguments) {
  operation.signature.call(operation.function, arguments.data());
}

void planHere(const Operation& operation, const RawArgument* given, uint64_t* workspace,
              void** executor) {
  const auto arguments = std::make_shared<const Arguments>(kept(operation.signature, given));
  (void)held(operation.signature, *arguments, &Parameter::hold);
  npusim::given(workspace) = 0;
  auto planned = std::make_shared<Executor>();
  planned->run = [&operation, arguments] {
    run(operation, held(operation.signature, *arguments, &Parameter::hold));
  };
  planned->record = [&operation, arguments]() -> std::function<void()> {
    return [&operation, copies = held(operation.signature, *arguments, &Parameter::copy)] {
      run(operation, copies);
    };
  };
  npusim::given(executor) = publish(planned);
}

}  // namespace

Operation::Operation(const char* name, Function function, const Signature& signature)
    : name(name), function(function), signature(signature) {}

int plan(const Operation& operation, const RawArgument* arguments, uint64_t* workspace,
         void** executor) noexcept {
  const size_t count = operation.signature.count;
  int code = checkTypes(operation.name, arguments, count);
  if (code == kSuccess) code = checkPromotion(operation.name, arguments, count);
  if (code != kSuccess) return code;
  if (insteadByTorch(operation.name, arguments, count, workspace, executor, code)) return code;
  return guarded([&] { planHere(operation, arguments, workspace, executor); });
}

std::string kernelDirectory() {
  const char* opp = std::getenv("ASCEND_OPP_PATH");
  if (opp == nullptr || *opp == '\0') {
    throw Error(kAclnnNoKernelPackage, "ASCEND_OPP_PATH is not set: no operator kernels for " +
                                           socName() + ": source set_env.sh");
  }
  return std::string(opp) + "/built-in/op_impl/ai_core/tbe/kernel/" + chip().kernels;
}

void requireKernels() {
  requireOwnProcess();
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
