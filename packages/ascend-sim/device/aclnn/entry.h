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
#include <optional>
#include <tuple>

#include "../torch/instead.h"
#include "accepted_types.h"
#include "promotion.h"
#include "tensor.h"

namespace npusim {

struct Executor {
  static constexpr Kind kKind = Kind::Executor;
  std::function<void()> run;
  // Gives the same on copies of the caller's objects. Empty where `run` has its own copies.
  std::function<std::function<void()>()> record;
};

void requireKernels();  // throws when the operator kernels are not installed
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

// How a parameter travels: an object as an opaque handle, a number as itself. `Kept` is what a
// planned call holds, `Held` what a call under way or a graph holds: the object itself or a copy.
template <class Parameter>
struct Wire {
  using Type = Parameter;
  using Kept = Parameter;
  using Held = Parameter;
  static Kept keep(Type value) { return value; }
  static Held hold(const Kept& value) { return value; }
  static Held copy(const Kept& value) { return value; }
  static Parameter open(const Held& value) { return value; }
};

template <class Object>
struct Wire<Object&> {
  using Plain = std::remove_const_t<Object>;
  using Type = void*;
  using Kept = void*;
  using Held = std::shared_ptr<Plain>;
  static Kept keep(Type handle) { return handle; }
  static Held hold(Kept handle) { return opened<Plain>(handle); }
  static Held copy(Kept handle) { return copied(*opened<Plain>(handle)); }
  static Object& open(const Held& object) { return *object; }
};

template <class Object>
struct Wire<const Object*> {
  using Type = void*;
  using Kept = void*;
  using Held = std::shared_ptr<Object>;
  static Kept keep(Type handle) { return handle; }
  static Held hold(Kept handle) { return handle ? opened<Object>(handle) : nullptr; }
  static Held copy(Kept handle) { return handle ? copied(*opened<Object>(handle)) : nullptr; }
  static const Object* open(const Held& object) { return object.get(); }
};

template <>
struct Wire<const char*> {
  using Type = const char*;
  using Kept = std::optional<std::string>;
  using Held = Kept;
  static Kept keep(Type text) { return text ? Kept(text) : std::nullopt; }
  static Held hold(const Kept& text) { return text; }
  static Held copy(const Kept& text) { return text; }
  static const char* open(const Held& text) { return text ? text->c_str() : nullptr; }
};

// What two operators of one signature share, so that it is compiled once.
template <class... Parameters>
struct Signature {
  using Operator = void (*)(Parameters...);
  using Kept = std::tuple<typename Wire<Parameters>::Kept...>;
  using Indices = std::index_sequence_for<Parameters...>;

  static int plan(Operator operation, const Kept& kept, uint64_t* workspace, void** executor) {
    return guarded([&] {
      requireKernels();
      (void)held(kept, Indices());
      given(workspace) = 0;
      given(executor) = publish(std::make_shared<Executor>(
          Executor{[=] { run(operation, held(kept, Indices()), Indices()); },
                   [=] { return onCopies(operation, kept, Indices()); }}));
    });
  }

 private:
  using Held = std::tuple<typename Wire<Parameters>::Held...>;

  template <size_t... at>
  static Held held(const Kept& kept, std::index_sequence<at...>) {
    return Held(Wire<Parameters>::hold(std::get<at>(kept))...);
  }

  template <size_t... at>
  static void run(Operator operation, const Held& held, std::index_sequence<at...>) {
    operation(Wire<Parameters>::open(std::get<at>(held))...);
  }

  template <size_t... at>
  static std::function<void()> onCopies(Operator operation, const Kept& kept,
                                        std::index_sequence<at...>) {
    Held copies(Wire<Parameters>::copy(std::get<at>(kept))...);
    return [=] { run(operation, copies, Indices()); };
  }
};

template <auto Operator, class Name>
struct Entry;

template <class... Parameters, void (*Operator)(Parameters...), class Name>
struct Entry<Operator, Name> {
  static int plan(typename Wire<Parameters>::Type... arguments, uint64_t* workspace,
                  void** executor) {
    const RawArgument given[] = {RawArgument(arguments)...};
    static const AcceptedTypes* const known = acceptedTypesOf(Name::text);
    int code = checkTypes(known, given, sizeof...(Parameters));
    if (code == kSuccess) code = checkPromotion(Name::text, given, sizeof...(Parameters));
    if (code != kSuccess) return code;
    if (insteadByTorch(Name::text, given, sizeof...(Parameters), workspace, executor, code)) {
      return code;
    }
    return Signature<Parameters...>::plan(Operator, {Wire<Parameters>::keep(arguments)...},
                                          workspace, executor);
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
