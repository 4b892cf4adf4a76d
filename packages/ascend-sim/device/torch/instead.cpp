// SPDX-License-Identifier: Apache-2.0
// The device's own operators are the reference: they compute in double, an element at a time.
// PyTorch takes over what they cannot read (complex numbers, 8-bit floats) and what is large, where
// the time that it takes to call PyTorch no longer counts. Small real numbers stay here, and with
// them all that the image tests compare with PyTorch on the CPU.
#include "instead.h"

#include <algorithm>
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
// takes 100 to 200 us. Here an element takes 2 ns where it is moved, added or compared, and 10 to
// 20 ns where a function of it is computed, or where it has 16 bits. A product of 100 x 100 matrices
// is what the image tests compare.
constexpr int64_t kLarge = 20000;
constexpr int64_t kLargeSimple = 65536;

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
  bool half = false;
  int64_t largest = 0;

  void add(const Tensor& tensor) {
    simulated &= isSimulated(tensor.dtype);
    half |= tensor.dtype == DataType::Half || tensor.dtype == DataType::Bfloat16;
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

template <size_t count>
bool isAmong(const char* (&names)[count], const char* name) {
  return std::any_of(names, names + count, [=](auto each) { return !std::strcmp(each, name); });
}

bool isProduct(const char* name) {
  static const char* products[] = {"Matmul", "Mm", "BatchMatMul", "Addmm", "Baddbmm"};
  return isAmong(products, name);
}

// Whether an operator does little with each element.
bool isSimple(const char* name) {
  static const char* simple[] = {
      "Abs", "Add", "Addcdiv", "Addcmul", "Adds", "Cast", "Cat", "Div", "Divs", "EqScalar",
      "EqTensor", "Gather", "GtScalar", "IndexSelect", "LayerNorm", "LtScalar", "Maximum", "Mean",
      "MeanV2", "Minimum", "Mul", "Muls", "NeScalar", "Neg", "ReduceSum", "Relu", "SWhere",
      "Sqrt", "Stack", "Sub", "Subs", "ThresholdBackward",
      "InplaceAdd", "InplaceAddcdiv", "InplaceAddcmul", "InplaceAdds", "InplaceCopy",
      "InplaceFillScalar", "InplaceMul", "InplaceMuls", "InplaceOne", "InplaceZero"};
  return isAmong(simple, name) || std::strncmp(name, "Foreach", 7) == 0;
}

bool wanted(int index, const Operands& operands) {
  if (policy() == Policy::Always || !operands.simulated) return true;
  if (operands.largest < kLarge) return false;
  const char* name = torch_operators[index].name;
  if (isProduct(name) && (faultyMatmul() || isFirstGeneration())) return false;
  return operands.largest >= kLargeSimple || operands.half || !isSimple(name);
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
