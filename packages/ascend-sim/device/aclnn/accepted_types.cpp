// SPDX-License-Identifier: Apache-2.0
#include "accepted_types.h"

#include <cstring>
#include <string>
#include <unordered_map>

#include "../runtime/devices.h"
#include "tensor.h"

namespace npusim {
namespace {

const char* nameOfType(int code) {
  static const std::unordered_map<int, const char*> names = {
      {0, "float32"},     {1, "float16"},        {2, "int8"},         {3, "int32"},
      {4, "uint8"},       {6, "int16"},          {7, "uint16"},       {8, "uint32"},
      {9, "int64"},       {10, "uint64"},        {11, "float64"},     {12, "bool"},
      {16, "complex64"},  {17, "complex128"},    {27, "bfloat16"},    {29, "int4"},
      {33, "complex32"},  {35, "float8_e5m2"},   {36, "float8_e4m3fn"}, {37, "float8_e8m0fnu"}};
  const auto found = names.find(code);
  return found == names.end() ? "another type" : found->second;
}

std::string list(uint64_t types) {
  std::string text;
  for (int code = 0; code < 64; ++code) {
    if ((types >> code & 1) != 0) text += (text.empty() ? "" : ", ") + std::string(nameOfType(code));
  }
  return text;
}

void requireAccepted(const AcceptedTypes& row, const Tensor& tensor) {
  const int code = static_cast<int>(tensor.dtype);
  // op-plugin passes an empty tensor where there is none.
  if (code < 0 || code > 63 || (row.types >> code & 1) != 0 || tensor.size() == 0) return;
  throw Error(kAclnnInvalidParam, std::string("aclnn") + row.name + ": " + row.parameter + " is " +
                                      nameOfType(code) + ", and " + socName() + " takes " +
                                      list(row.types) + " (" + row.document +
                                      "). NPUSIM_LENIENT=1 lets it pass here");
}

void requireAccepted(const AcceptedTypes& row, void* handle) {
  if (isHandle(handle, Kind::Tensor)) return requireAccepted(row, *opened<Tensor>(handle));
  if (!isHandle(handle, Kind::TensorList)) return;
  const auto list = opened<TensorList>(handle);
  for (const auto& item : list->items) {
    if (item != nullptr) requireAccepted(row, *item);
  }
}

bool isTold() {
  static const bool told = socName().rfind("Ascend910B", 0) == 0 && !isLenient();
  return told;
}

}  // namespace

const AcceptedTypes* acceptedTypesOf(const char* name) {
  static const auto* all = [] {
    auto* rows = new std::unordered_map<std::string, const AcceptedTypes*>;
    for (int i = 0; i < accepted_types_count; ++i) {
      rows->emplace(accepted_types[i].name, &accepted_types[i]);
    }
    return rows;
  }();
  const auto found = all->find(name);
  return found == all->end() ? nullptr : found->second;
}

int checkTypes(const AcceptedTypes* known, const RawArgument* arguments, size_t count) noexcept {
  if (known == nullptr || !isTold()) return kSuccess;
  return guarded([&] {
    const AcceptedTypes* end = accepted_types + accepted_types_count;
    for (auto* row = known; row != end && std::strcmp(row->name, known->name) == 0; ++row) {
      if (row->place >= count) continue;
      const RawArgument& argument = arguments[row->place];
      if (argument.type != RawArgument::Type::Pointer || argument.pointer == nullptr) continue;
      requireAccepted(*row, argument.pointer);
    }
  });
}

}  // namespace npusim
