// SPDX-License-Identifier: Apache-2.0
// How an operator becomes a pair of exported functions. An operator is a plain C++ function:
//
//     void Tril(const Tensor& self, int64_t diagonal, const Tensor& out) { ... }
//     ACLNN(Tril, Tril)
//
// exports aclnnTrilGetWorkspaceSize(self, diagonal, out, workspaceSize, executor), which checks
// the arguments and remembers the call, and aclnnTril(workspace, size, executor, stream), which
// carries it out. A `const Tensor&` must be given; a `const Tensor*` may be null.
#pragma once

#include <functional>
#include <memory>
#include <tuple>

#include "../torch/instead.h"
#include "tensor.h"

namespace npusim {

struct Executor {
  static constexpr Kind kKind = Kind::Executor;
  std::function<void()> run;
};

void requireKernels();  // throws when the operator kernels are not installed
int execute(void* executor) noexcept;

// How a parameter travels: an object as an opaque handle, a number as itself.
template <class Parameter>
struct Wire {
  using Type = Parameter;
  static Parameter open(Parameter value) { return value; }
};

template <class Object>
struct Wire<Object&> {
  using Type = void*;
  static Object& open(void* handle) { return opened<std::remove_const_t<Object>>(handle); }
};

template <class Object>
struct Wire<const Object*> {
  using Type = void*;
  static const Object* open(void* handle) { return handle ? &opened<Object>(handle) : nullptr; }
};

template <>
struct Wire<const char*> {
  using Type = const char*;
  static const char* open(const char* value) { return value; }
};

template <auto Operator, class Name>
struct Entry;

template <class... Parameters, void (*Operator)(Parameters...), class Name>
struct Entry<Operator, Name> {
  static int plan(typename Wire<Parameters>::Type... arguments, uint64_t* workspace,
                  void** executor) {
    return guarded([&] {
      requireKernels();
      (void)std::tuple<Parameters...>(Wire<Parameters>::open(arguments)...);
      *workspace = 0;
      static const int index = torchOperatorIndex(Name::text);
      std::function<void()> run = insteadByTorch(index, {RawArgument(arguments)...});
      if (!run) run = [=] { Operator(Wire<Parameters>::open(arguments)...); };
      *executor = publish(std::make_unique<Executor>(Executor{run}));
    });
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
  extern "C" void* npusim_resolve_##name() {                                        \
    return reinterpret_cast<void*>(&npusim::Entry<operation, name##Name>::plan);    \
  }                                                                                 \
  extern "C" __attribute__((visibility("default"), ifunc("npusim_resolve_" #name))) \
  decltype(npusim::Entry<operation, name##Name>::plan) aclnn##name##GetWorkspaceSize; \
  NPUSIM_API int aclnn##name(void*, uint64_t, void* executor, npusim::Stream) {     \
    return npusim::execute(executor);                                               \
  }
