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
#include "tensor.h"

namespace npusim {

struct Executor {
  static constexpr Kind kKind = Kind::Executor;
  std::function<void()> run;
  // Gives the same on copies of the caller's objects. Empty where `run` has its own copies.
  std::function<std::function<void()>()> record;
};

void requireKernels();  // throws when the operator kernels are not installed
int execute(void* executor, Stream stream) noexcept;

template <class Object>
std::shared_ptr<Object> copied(const Object& object) {
  return std::make_shared<Object>(object);
}

// A list points to its items, so its copy owns copies of them.
template <class Item, Kind kind>
std::shared_ptr<List<Item*, kind>> copied(const List<Item*, kind>& list) {
  struct Owner {
    std::vector<std::unique_ptr<Item>> items;
    List<Item*, kind> list;
  };
  auto owner = std::make_shared<Owner>();
  for (const Item* item : list.items) {
    if (item != nullptr) owner->items.push_back(std::make_unique<Item>(*item));
    owner->list.items.push_back(item != nullptr ? owner->items.back().get() : nullptr);
  }
  return {owner, &owner->list};
}

// How a parameter travels: an object as an opaque handle, a number as itself. `Kept` is what a
// planned call holds, `Copy` what a graph holds.
template <class Parameter>
struct Wire {
  using Type = Parameter;
  using Kept = Parameter;
  using Copy = Parameter;
  static Kept keep(Type value) { return value; }
  static Copy copy(const Kept& value) { return value; }
  static Parameter open(const Kept& value) { return value; }
  static Parameter openCopy(const Copy& value) { return value; }
};

template <class Object>
struct Wire<Object&> {
  using Plain = std::remove_const_t<Object>;
  using Type = void*;
  using Kept = void*;
  using Copy = std::shared_ptr<Plain>;
  static Kept keep(Type handle) { return handle; }
  static Copy copy(Kept handle) { return copied(opened<Plain>(handle)); }
  static Object& open(Kept handle) { return opened<Plain>(handle); }
  static Object& openCopy(const Copy& object) { return *object; }
};

template <class Object>
struct Wire<const Object*> {
  using Type = void*;
  using Kept = void*;
  using Copy = std::shared_ptr<Object>;
  static Kept keep(Type handle) { return handle; }
  static Copy copy(Kept handle) { return handle ? copied(opened<Object>(handle)) : nullptr; }
  static const Object* open(Kept handle) { return handle ? &opened<Object>(handle) : nullptr; }
  static const Object* openCopy(const Copy& object) { return object.get(); }
};

template <>
struct Wire<const char*> {
  using Type = const char*;
  using Kept = std::optional<std::string>;
  using Copy = Kept;
  static Kept keep(Type text) { return text ? Kept(text) : std::nullopt; }
  static Copy copy(const Kept& text) { return text; }
  static const char* open(const Kept& text) { return text ? text->c_str() : nullptr; }
  static const char* openCopy(const Copy& text) { return open(text); }
};

// What two operators of one signature share, so that it is compiled once.
template <class... Parameters>
struct Signature {
  using Operator = void (*)(Parameters...);
  using Kept = std::tuple<typename Wire<Parameters>::Kept...>;
  using Indices = std::index_sequence_for<Parameters...>;

  static int plan(Operator operation, Kept kept, uint64_t* workspace, void** executor) {
    return guarded([&] {
      requireKernels();
      (void)opened(kept, Indices());
      *workspace = 0;
      *executor = publish(std::make_unique<Executor>(
          Executor{[=] { std::apply(operation, opened(kept, Indices())); },
                   [=] { return onCopies(operation, kept, Indices()); }}));
    });
  }

 private:
  template <size_t... at>
  static std::tuple<Parameters...> opened(const Kept& kept, std::index_sequence<at...>) {
    return std::tuple<Parameters...>(Wire<Parameters>::open(std::get<at>(kept))...);
  }

  template <size_t... at>
  static std::function<void()> onCopies(Operator operation, const Kept& kept,
                                        std::index_sequence<at...>) {
    auto copies = std::make_tuple(Wire<Parameters>::copy(std::get<at>(kept))...);
    return [=] { operation(Wire<Parameters>::openCopy(std::get<at>(copies))...); };
  }
};

template <auto Operator, class Name>
struct Entry;

template <class... Parameters, void (*Operator)(Parameters...), class Name>
struct Entry<Operator, Name> {
  static int plan(typename Wire<Parameters>::Type... arguments, uint64_t* workspace,
                  void** executor) {
    const RawArgument given[] = {RawArgument(arguments)...};
    int code = kSuccess;
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
    return npusim::execute(executor, on);                                           \
  }
