// SPDX-License-Identifier: Apache-2.0
// The device's own operators are the reference: they compute in double, an element at a time.
// PyTorch takes over what they cannot read (complex numbers, 8-bit floats) and what is large, where
// the time that it takes to call PyTorch no longer counts. Small real numbers stay here, and with
// them all that the image tests compare with PyTorch on the CPU.
#include "instead.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../core/fault.h"
#include "../runtime/devices.h"
#include "element_types.h"
#include "worker.h"

namespace npusim {
namespace {

// Elements of the largest tensor. Calling PyTorch is a message to another process and back, which
// takes 100 us and more. A product of 100 x 100 matrices is what the image tests compare.
constexpr int64_t kLarge = 8192;
constexpr int64_t kLargeProduct = 20000;

enum class Policy { Automatic, Always, Never };

Policy policy() {
  static const Policy chosen = [] {
    const char* value = std::getenv("NPUSIM_TORCH");
    const std::string text = value ? value : "";
    if (text == "always") return Policy::Always;
    if (text == "never") return Policy::Never;
    if (!text.empty() && text != "auto") {
      std::fprintf(stderr, "npusim: NPUSIM_TORCH=%s is ignored: use 'auto', 'always' or 'never'\n",
                   text.c_str());
    }
    return Policy::Automatic;
  }();
  return chosen;
}

struct Operands {
  bool simulated = true;
  int64_t largest = 0;

  void add(const Tensor& tensor) {
    simulated &= isSimulated(tensor.dtype);
    largest = std::max(largest, tensor.size());
  }
};

Operands operandsOf(const RawArgument* arguments, size_t count) {
  Operands found;
  for (size_t i = 0; i < count; ++i) {
    const RawArgument& argument = arguments[i];
    if (argument.type != RawArgument::Type::Pointer || argument.pointer == nullptr) continue;
    if (isHandle(argument.pointer, Kind::Tensor)) found.add(*opened<Tensor>(argument.pointer));
    if (isHandle(argument.pointer, Kind::Scalar)) {
      found.simulated &= !isComplex(opened<Scalar>(argument.pointer)->dtype);
    }
    if (!isHandle(argument.pointer, Kind::TensorList)) continue;
    const auto list = opened<TensorList>(argument.pointer);
    for (const auto& item : list->items) {
      if (item != nullptr) found.add(*item);
    }
  }
  return found;
}

bool isProduct(const char* name) {
  for (const char* product : {"Matmul", "Mm", "BatchMatMul", "Addmm", "Baddbmm"}) {
    if (std::strcmp(name, product) == 0) return true;
  }
  return false;
}

bool wanted(int index, const Operands& operands) {
  if (policy() == Policy::Always || !operands.simulated) return true;
  const bool product = isProduct(torch_operators[index].name);
  if (product && (faultyMatmul() || isFirstGeneration())) return false;
  return operands.largest >= (product ? kLargeProduct : kLarge);
}

}  // namespace

bool insteadByTorch(const char* name, const RawArgument* arguments, size_t count,
                    uint64_t* workspace, void** executor, int& code) noexcept {
  bool taken = true;
  int planned = kSuccess;
  code = guarded([&] {
    const int index = torchOperatorIndex(name);
    const Operands operands = operandsOf(arguments, count);
    const bool possible = index >= 0 && policy() != Policy::Never && hasPython();
    if (possible && wanted(index, operands)) {
      const std::vector<RawArgument> given(arguments, arguments + count);
      planned = planByTorch(index, given, workspace, executor);
      return;
    }
    if (!operands.simulated) {
      throw Error(kAclnnInvalidParam, std::string("aclnn") + name +
                                          " computes with real numbers of 8 to 64 bits only");
    }
    taken = false;
  });
  if (code == kSuccess) code = planned;
  return taken;
}

}  // namespace npusim
