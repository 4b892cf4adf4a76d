// SPDX-License-Identifier: Apache-2.0
// How an operator becomes a pair of exported functions. An operator is a plain C++ function:
//
//     void Tril(const Tensor& self, int64_t diagonal, const Tensor& out) { ... }
//     ACLNN(Tril, Tril)
//
// exports aclnnTrilGetWorkspaceSize(self, diagonal, out, workspaceSize, executor), which checks
// the arguments and remembers the call, and aclnnTril(workspace, size, executor, stream), which
// carries it out, or keeps it for later while the stream is being captured in a graph. A
// `const Tensor&` must be given; a `const Tensor*` may be null.
//
// Between the two the caller keeps its objects, but not its strings: those are copied at once. A
// graph outlives the objects as well, so it gets copies of them.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "../torch/instead.h"
#include "accepted_types.h"
#include "tensor.h"

namespace npusim {

struct Executor {
  static constexpr Kind kKind = Kind::Executor;
  std::function<void()> run;
  // Gives the same on copies of the caller's objects. Empty where `run` has its own copies.
  std::function<std::function<void()>()> record;
};

void requireKernels();  // throws when the operator kernels are not installed
std::string kernelDirectory();  // of the chip; throws where no variable tells it
int execute(const char* name, void* executor, Stream stream) noexcept;

template <class Object>
std::shared_ptr<Object> copied(const Object& object) {
  return std::make_shared<Object>(object);
}

template <class Object, Kind kind>
std::shared_ptr<List<Item<Object>, kind>> copied(const List<Item<Object>, kind>& list) {
  auto copy = std::make_shared<List<Item<Object>, kind>>();
  for (const Item<Object>& item : list.items) {
    copy->items.push_back(item ? std::make_shared<Object>(*item) : nullptr);
  }
  return copy;
}

// What a call under way holds of an argument: beside what the caller gave, the object of a handle
// or a copy of it, and of a text a std::string.
struct Argument {
  RawArgument given;
  std::shared_ptr<void> object;
};

// How the object of a handle is found. Both functions are null for a number and for a text.
struct Parameter {
  using Find = std::shared_ptr<void> (*)(const void* handle);
  Find hold = nullptr;
  Find copy = nullptr;
  bool optional = false;
};

template <class Object>
std::shared_ptr<void> holdObject(const void* handle) {
  return opened<Object>(handle);
}

template <class Object>
std::shared_ptr<void> copyObject(const void* handle) {
  return copied(*opened<Object>(handle));
}

// How a parameter of an operator travels: an object as an opaque handle, a number as itself.
template <class Number>
struct Wire {
  using Type = Number;
  static constexpr Parameter parameter{};
  static Number open(const Argument& argument) {
    if constexpr (std::is_floating_point_v<Number>) {
      return static_cast<Number>(argument.given.floating);
    } else {
      return static_cast<Number>(argument.given.integer);
    }
  }
};

template <class Object>
struct Wire<Object&> {
  using Plain = std::remove_const_t<Object>;
  using Type = void*;
  static constexpr Parameter parameter{holdObject<Plain>, copyObject<Plain>};
  static Object& open(const Argument& argument) {
    return *static_cast<Plain*>(argument.object.get());
  }
};

template <class Object>
struct Wire<const Object*> {
  using Type = void*;
  static constexpr Parameter parameter{holdObject<Object>, copyObject<Object>, true};
  static const Object* open(const Argument& argument) {
    return static_cast<const Object*>(argument.object.get());
  }
};

template <>
struct Wire<const char*> {
  using Type = const char*;
  static constexpr Parameter parameter{};
  static const char* open(const Argument& argument) {
    const auto* text = static_cast<const std::string*>(argument.object.get());
    return text ? text->c_str() : nullptr;
  }
};

using Function = void (*)();  // of any signature

// What operators of one signature share. Calls are kept and held without their C++ types, so that
// little is compiled for each operator.
struct Signature {
  size_t count;
  const Parameter* parameters;
  void (*call)(Function operation, const Argument* arguments);
};

template <class... Parameters>
struct Call {
  template <size_t... at>
  static void unpack(Function operation, const Argument* arguments, std::index_sequence<at...>) {
    reinterpret_cast<void (*)(Parameters...)>(operation)(
        Wire<Parameters>::open(arguments[at])...);
  }
  static void call(Function operation, const Argument* arguments) {
    unpack(operation, arguments, std::index_sequence_for<Parameters...>());
  }
  static constexpr Parameter parameters[] = {Wire<Parameters>::parameter...};
  static constexpr Signature signature{sizeof...(Parameters), parameters, call};
};

// An operator, and what is known of it by its name.
struct Operation {
  Operation(const char* name, Function function, const Signature& signature);

  const char* name;
  Function function;
  const Signature& signature;
};

int plan(const Operation& operation, const RawArgument* arguments, uint64_t* workspace,
         void** executor) noexcept;

template <auto Operator, class Name>
struct Entry;

template <class... Parameters, void (*Operator)(Parameters...), class Name>
struct Entry<Operator, Name> {
  static int plan(typename Wire<Parameters>::Type... arguments, uint64_t* workspace,
                  void** executor) {
    static const Operation operation(Name::text, reinterpret_cast<Function>(Operator),
                                     Call<Parameters...>::signature);
    const RawArgument given[] = {RawArgument(arguments)...};
    return npusim::plan(operation, given, workspace, executor);
  }
};

}  // namespace npusim

// The first function's signature follows from the operator's, so it cannot be spelled as a
// definition; an indirect function lets the loader ask for its address instead.
#define ACLNN(name, operation)                                                      \
  namespace {                                                                       \
  struct name##Name {                                                               \
    static constexpr const char* text = #name;                                      \
  };                                                                                \
  }                                                                                 \
  extern "C" decltype(&npusim::Entry<operation, name##Name>::plan)                  \
  npusim_resolve_##name() {                                                         \
    return &npusim::Entry<operation, name##Name>::plan;                             \
  }                                                                                 \
  extern "C" __attribute__((visibility("default"), ifunc("npusim_resolve_" #name))) \
  decltype(npusim::Entry<operation, name##Name>::plan) aclnn##name##GetWorkspaceSize; \
  NPUSIM_API int aclnn##name(void*, uint64_t, void* executor, npusim::Stream on) {  \
    return npusim::execute("aclnn" #name, executor, on);                            \
  }
