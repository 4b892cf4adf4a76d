// SPDX-License-Identifier: Apache-2.0
#include "torch_operators.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "worker.h"

namespace npusim {
namespace {

// A pipe: writing from an address that cannot be read is an error. process_vm_readv would do with
// one call, but QEMU does not have it.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) throw Error(kInternalError, "a pipe cannot be opened");
  }
  ~Pipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // Copies `size` bytes; false if they cannot be read.
  bool copy(uintptr_t from, char* to, size_t size) {
    const auto expected = static_cast<ssize_t>(size);
    return write(ends_[1], reinterpret_cast<const void*>(from), size) == expected &&
           read(ends_[0], to, size) == expected;
  }

 private:
  int ends_[2];
};

// The text at an address that may be no address at all: a signature that is declared wrongly must
// end in an error.
std::string copiedText(const char* text) {
  if (text == nullptr) throw Error(kAclnnNullPointer, "a text is missing (null)");
  const uintptr_t page = static_cast<uintptr_t>(getpagesize());
  Pipe pipe;
  std::string copy;
  char part[256];
  auto at = reinterpret_cast<uintptr_t>(text);
  while (copy.size() < 65536) {
    const size_t size = std::min<size_t>(sizeof part, page - at % page);
    if (!pipe.copy(at, part, size)) break;
    const size_t length = strnlen(part, size);
    copy.append(part, length);
    if (length < size) return copy;
    at += size;
  }
  throw Error(kAclnnInvalidParam, "a text is not readable");
}

TensorItems copied(const TensorList& list) {
  TensorItems items;
  for (const auto& item : list.items) {
    items.push_back(item ? std::optional<Tensor>(*item) : std::nullopt);
  }
  return items;
}

ScalarItems copied(const ScalarList& list) {
  ScalarItems items;
  for (const auto& item : list.items) items.push_back(*item);
  return items;
}

Value copiedObject(char kind, void* handle) {
  if (kind == 'n') {
    kind = isHandle(handle, Kind::Tensor) ? 't' : isHandle(handle, Kind::ScalarList) ? 'S' : 's';
  }
  switch (kind) {
    case 't': return *opened<Tensor>(handle);
    case 's': return *opened<Scalar>(handle);
    case 'T': return copied(*opened<TensorList>(handle));
    case 'S': return copied(*opened<ScalarList>(handle));
    case 'I': return opened<IntArray>(handle)->items;
    case 'F': {
      const auto items = opened<FloatArray>(handle)->items;
      return std::vector<double>(items.begin(), items.end());
    }
    default: {
      const auto items = opened<BoolArray>(handle)->items;
      return std::vector<bool>(items.begin(), items.end());
    }
  }
}

RawArgument::Type typeOf(char kind) {
  if (std::strchr("tsTSIFBn", kind) != nullptr) return RawArgument::Type::Pointer;
  if (kind == 'z') return RawArgument::Type::Text;
  return kind == 'd' || kind == 'f' ? RawArgument::Type::Floating : RawArgument::Type::Integer;
}

Value copiedArgument(char kind, bool optional, const RawArgument& argument) {
  if (argument.type != typeOf(kind)) {
    throw Error(kAclnnInvalidParam, "the device declares another type for it");
  }
  switch (kind) {
    case 'b': return argument.integer != 0;
    case 'i':
    case 'w':
    case 'c': return argument.integer;
    case 'd':
    case 'f': return argument.floating;
    case 'z':
      if (argument.text == nullptr && optional) return Null{};
      return copiedText(argument.text);
    default:
      if (argument.pointer == nullptr && optional) return Null{};
      return copiedObject(kind, argument.pointer);
  }
}

// Whether a caller's variable lies there, which a wrong number of arguments would not give.
bool isWritable(void* variable) {
  const uintptr_t page = static_cast<uintptr_t>(getpagesize());
  const auto address = reinterpret_cast<uintptr_t>(variable);
  unsigned char in_memory;
  return address >= page && address % alignof(void*) == 0 &&
         mincore(reinterpret_cast<void*>(address - address % page), 1, &in_memory) == 0;
}

std::vector<Value> copiedArguments(int index, const std::vector<RawArgument>& arguments) {
  const TorchOperator& row = torch_operators[index];
  std::vector<Value> values;
  const char* kind = row.signature;
  for (const RawArgument& argument : arguments) {
    const char letter = *kind != '\0' ? *kind++ : '\0';
    const bool optional = *kind == '?';
    while (*kind == '?' || *kind == '*') ++kind;
    try {
      if (letter == '\0') throw Error(kAclnnInvalidParam, "there are too many");
      values.push_back(copiedArgument(letter, optional, argument));
    } catch (const Error& error) {
      throw Error(error.code, functionName(row.name) + ": argument " +
                                  std::to_string(values.size() + 1) + ": " + error.what());
    }
  }
  if (*kind != '\0') {
    throw Error(kAclnnInvalidParam, functionName(row.name) + ": arguments are missing");
  }
  return values;
}

}  // namespace

std::string functionName(const std::string& name) {
  return name.rfind("acl", 0) == 0 ? name : "aclnn" + name;
}

int torchOperatorIndex(const std::string& name) {
  static const auto* all = [] {
    auto* rows = new std::unordered_map<std::string, int>;
    for (int i = 0; i < torch_operator_count; ++i) (*rows)[torch_operators[i].name] = i;
    return rows;
  }();
  const auto found = all->find(name);
  return found == all->end() ? -1 : found->second;
}

std::function<void()> torchCall(int index, const std::vector<RawArgument>& arguments) {
  return [name = std::string(torch_operators[index].name),
          values = copiedArguments(index, arguments), arguments] {
    for (const auto& [number, shape] : callWorker(name, values, {})) {
      const auto out = opened<Tensor>(arguments.at(number).pointer);
      out->shape = shape;
      out->strides = denseStrides(shape);
    }
  };
}

int planByTorch(int index, const std::vector<RawArgument>& arguments, uint64_t* workspace,
                void** executor) noexcept {
  return guarded([&] {
    const std::string name = torch_operators[index].name;
    requireWorker(name);
    std::function<void()> call = torchCall(index, arguments);
    if (!isWritable(workspace) || !isWritable(executor)) {
      throw Error(kAclnnInvalidParam, functionName(name) + ": the caller passes other arguments " +
                                          "than the table of this device declares");
    }
    *workspace = 0;
    *executor = publish(std::make_shared<Executor>(Executor{call, {}}));
  });
}

int checkAndPlanByTorch(int index, const std::vector<RawArgument>& arguments, uint64_t* workspace,
                        void** executor) noexcept {
  const char* name = torch_operators[index].name;
  const int code = checkTypes(name, arguments.data(), arguments.size());
  return code == kSuccess ? planByTorch(index, arguments, workspace, executor) : code;
}

FoundShapes runByTorch(const std::string& type, const std::vector<Value>& inputs,
                const std::vector<Value>& outputs, const std::vector<NamedValue>& attributes) {
  std::vector<Value> arguments = inputs;
  arguments.insert(arguments.end(), outputs.begin(), outputs.end());
  std::vector<NamedValue> named = attributes;
  named.emplace_back("", static_cast<int64_t>(inputs.size()));
  FoundShapes found = callWorker("@" + type, arguments, named);
  const char* signature = torch_operators[torchOperatorIndex("@" + type)].signature;
  size_t parameters = 0;
  for (; *signature != '\0'; ++signature) parameters += *signature != '?' && *signature != '*';
  for (auto& each : found) each.first -= parameters - outputs.size();
  return found;
}

}  // namespace npusim
