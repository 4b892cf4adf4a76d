// SPDX-License-Identifier: Apache-2.0
#include "accepted_types.h"

#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "../runtime/devices.h"
#include "entry.h"
#include "tensor.h"

namespace npusim {
namespace {

struct Accepted {
  size_t place;  // the number of the argument
  std::string name;
  uint64_t types;  // a bit for each aclDataType
  std::string document;
};
using Known = std::unordered_map<std::string, std::vector<Accepted>>;

// A parameter a line: the operator, the place, its name, the types and the document.
Known readKnown() {
  Known known;
  std::ifstream file(kernelDirectory() + "/accepted_types");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    Accepted each;
    words >> name >> each.place >> each.name >> std::hex >> each.types >> each.document;
    known[name].push_back(each);
  }
  return known;
}

std::string list(uint64_t types) {
  std::string text;
  for (int code = 0; code < 64; ++code) {
    if ((types >> code & 1) != 0) text += (text.empty() ? "" : ", ") + std::string(nameOfType(static_cast<DataType>(code)));
  }
  return text;
}

void requireAccepted(const char* name, const Accepted& row, const Tensor& tensor) {
  const int code = static_cast<int>(tensor.dtype);
  // op-plugin passes an empty tensor where there is none.
  if (code < 0 || code > 63 || (row.types >> code & 1) != 0 || tensor.size() == 0) return;
  throw Error(kAclnnInvalidParam, std::string("aclnn") + name + ": " + row.name + " is " +
                                      nameOfType(tensor.dtype) + ", and " + socName() + " takes " +
                                      list(row.types) + " (" + row.document +
                                      "). NPUSIM_LENIENT=1 lets it pass here");
}

void requireAccepted(const char* name, const Accepted& row, void* handle) {
  if (isHandle(handle, Kind::Tensor)) return requireAccepted(name, row, *opened<Tensor>(handle));
  if (!isHandle(handle, Kind::TensorList)) return;
  const auto list = opened<TensorList>(handle);
  for (const auto& item : list->items) {
    if (item != nullptr) requireAccepted(name, row, *item);
  }
}

// An operator's parameters; null where nothing is known of it.
const std::vector<Accepted>* acceptedBy(const char* name) {
  requireKernels();
  static const Known* known = new Known(isLenient() ? Known() : readKnown());
  const auto found = known->find(name);
  return found == known->end() ? nullptr : &found->second;
}

}  // namespace

const char* nameOfType(DataType type) {
  static const std::unordered_map<int, const char*> names = {
      {0, "float32"},     {1, "float16"},        {2, "int8"},         {3, "int32"},
      {4, "uint8"},       {6, "int16"},          {7, "uint16"},       {8, "uint32"},
      {9, "int64"},       {10, "uint64"},        {11, "float64"},     {12, "bool"},
      {16, "complex64"},  {17, "complex128"},    {27, "bfloat16"},    {29, "int4"},
      {33, "complex32"},  {34, "hifloat8"},   {35, "float8_e5m2"}, {36, "float8_e4m3fn"},
      {37, "float8_e8m0fnu"}, {40, "float4_e2m1"}, {41, "float4_e1m2"}};
  const auto found = names.find(static_cast<int>(type));
  return found == names.end() ? "another type" : found->second;
}

bool isAccepted(const char* name, size_t place, DataType type) {
  const auto* parameters = acceptedBy(name);
  if (parameters == nullptr) return true;
  for (const Accepted& each : *parameters) {
    if (each.place == place) return (each.types >> static_cast<int>(type) & 1) != 0;
  }
  return true;
}

int checkTypes(const char* name, const RawArgument* arguments, size_t count) noexcept {
  return guarded([&] {
    const auto* parameters = acceptedBy(name);
    if (parameters == nullptr) return;
    for (const Accepted& each : *parameters) {
      if (each.place >= count) continue;
      const RawArgument& argument = arguments[each.place];
      if (argument.type != RawArgument::Type::Pointer || argument.pointer == nullptr) continue;
      requireAccepted(name, each, argument.pointer);
    }
  });
}

}  // namespace npusim
