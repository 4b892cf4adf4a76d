// SPDX-License-Identifier: Apache-2.0
#include "python.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <cstring>

#include "element_types.h"
#include "python_api.h"

namespace npusim {
namespace {

// Calls that are planned, and those under way; and whether the interpreter is about to end: then
// none may begin.
std::atomic<int> planned{0};
std::atomic<int> under_way{0};
std::atomic<bool> closed{false};

// Holds the interpreter's lock. Refused once the interpreter ends, because a thread that asks for
// the lock then is never given back.
class Gil {
 public:
  explicit Gil(const PythonApi& api) : api_(api) {
    ++under_way;
    if (closed) {
      --under_way;
      throw Error(kInternalError, "Python is ending: no operator can be carried out any more");
    }
    state_ = api_.EnsureGil();
  }
  ~Gil() {
    api_.ReleaseGil(state_);
    --under_way;
  }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  const PythonApi& api_;
  int state_;
};

// Builds the arguments of one call. A new object belongs to the tuple that it is put into.
class Builder {
 public:
  explicit Builder(const PythonApi& api) : api_(api) {}

  PyObject* operator()(const Null&) const {
    api_.IncRef(api_.none);
    return api_.none;
  }
  PyObject* operator()(bool value) const { return api_.NewBool(value); }
  PyObject* operator()(int64_t value) const { return api_.NewInteger(value); }
  PyObject* operator()(double value) const { return api_.NewFloat(value); }
  PyObject* operator()(const std::string& value) const {
    return api_.NewText(value.data(), static_cast<ptrdiff_t>(value.size()), "replace");
  }
  PyObject* operator()(const std::optional<Tensor>& value) const {
    return value ? (*this)(*value) : (*this)(Null{});
  }
  PyObject* operator()(const Scalar& value) const {
    if (isComplex(value.dtype)) return api_.NewComplex(value.real, value.imaginary);
    if (value.dtype == DataType::Bool) return api_.NewBool(value.integer != 0);
    return isFloating(value.dtype) ? api_.NewFloat(value.real) : api_.NewInteger(value.integer);
  }
  // (memory, data type, shape, strides), the memory from the first element of the view on.
  PyObject* operator()(const Tensor& value) const {
    requireDeviceMemory(value);
    int64_t elements = value.size() == 0 ? 0 : 1;
    for (size_t i = 0; elements > 0 && i < value.shape.size(); ++i) {
      elements += (value.shape[i] - 1) * value.strides[i];
    }
    const int64_t size = static_cast<int64_t>(bytesOfElement(value.dtype));
    char* first = reinterpret_cast<char*>(value.storage) + value.offset * size;
    PyObject* memory = elements == 0 ? (*this)(Null{})
                                     : api_.NewMemoryView(first, elements * size, kWritable);
    return tuple({memory, (*this)(static_cast<int64_t>(value.dtype)), (*this)(value.shape),
                  (*this)(value.strides)});
  }
  template <class Item>
  PyObject* operator()(const std::vector<Item>& values) const {
    std::vector<PyObject*> items;
    for (const auto& value : values) items.push_back((*this)(static_cast<const Item&>(value)));
    return tuple(items);
  }
  PyObject* operator()(const Value& value) const { return std::visit(*this, value); }
  PyObject* operator()(const NamedValue& pair) const {
    return tuple({(*this)(pair.first), (*this)(pair.second)});
  }

  PyObject* tuple(const std::vector<PyObject*>& items) const {
    PyObject* result = api_.NewTuple(static_cast<ptrdiff_t>(items.size()));
    for (size_t i = 0; i < items.size(); ++i) {
      api_.SetTupleItem(result, static_cast<ptrdiff_t>(i), items[i]);
    }
    return result;
  }

 private:
  static constexpr int kWritable = 0x200;
  const PythonApi& api_;
};

// The folder npusim_torch beside this library, wherever the links to the library lead from.
std::string moduleFolder() {
  Dl_info info{};
  char path[PATH_MAX];
  if (dladdr(reinterpret_cast<void*>(&moduleFolder), &info) == 0 ||
      realpath(info.dli_fname, path) == nullptr) {
    throw Error(kInternalError, "the place of this library is unknown");
  }
  std::string file = path;
  return file.substr(0, file.rfind('/')) + "/npusim_torch";
}

// Waits until all that is planned is done, but not for a thread that goes on for ever; no call
// begins afterwards. npusim_torch calls it when the interpreter ends, without its lock.
void close() {
  const timespec pause{0, 1000000};
  for (int i = 0; i < 5000 && planned > 0; ++i) nanosleep(&pause, nullptr);
  closed = true;
  for (int i = 0; i < 5000 && under_way > 0; ++i) nanosleep(&pause, nullptr);
}

PyObject* imported(const PythonApi& api) {
  const std::string folder = moduleFolder();
  const std::string code =
      "import sys\n"
      "if 'npusim_torch.calls' not in sys.modules:\n"
      "    import importlib.util as _u\n"
      "    _s = _u.spec_from_file_location('npusim_torch', r'''" + folder + "/__init__.py''',\n"
      "        submodule_search_locations=[r'''" + folder + "'''])\n"
      "    _m = _u.module_from_spec(_s)\n"
      "    _m.CLOSE = " + std::to_string(reinterpret_cast<uintptr_t>(&close)) + "\n"
      "    sys.modules['npusim_torch'] = _m\n"
      "    try:\n"
      "        _s.loader.exec_module(_m)\n"
      "        import npusim_torch.calls\n"
      "    except BaseException as _e:\n"
      "        sys.modules.pop('npusim_torch', None)\n"
      "        sys.stderr.write('npusim: %s: %s\\n' % (type(_e).__name__, _e))\n";
  api.RunString(code.c_str());
  PyObject* module = api.ImportModule("npusim_torch.calls");
  PyObject* run = module ? api.GetAttribute(module, "run") : nullptr;
  if (run == nullptr) {
    api.ClearError();
    throw Error(kInternalError, "the Python module " + folder + " cannot be loaded; stderr has why");
  }
  return run;  // kept for the life of the process
}

// npusim_torch.run, once it is loaded.
std::atomic<PyObject*> run_function{nullptr};

// The interpreter's lock is held. While the module loads, another thread may get here as well: then
// Python's own lock of imports makes it wait.
void load(const PythonApi& api) {
  PyObject* run = imported(api);
  if (run_function.exchange(run) != nullptr) return;
  PyObject* module = api.ImportModule("npusim_torch.calls");
  PyObject* prepare = module ? api.GetAttribute(module, "prepare") : nullptr;
  PyObject* result = prepare ? api.Call(prepare, nullptr) : nullptr;
  if (result == nullptr) api.ClearError();
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(kNotSupported, functionName(name) + " is carried out by PyTorch, and " + why);
}

// What run() returned: None, a message, or a tuple of (argument, shape).
FoundShapes opened(const PythonApi& api, const std::string& name, PyObject* result) {
  if (result == nullptr) {
    api.ClearError();
    throw Error(kInternalError, name + ": the Python function failed");
  }
  if (result == api.none) return {};
  if (const char* text = api.AsText(result, nullptr)) {
    if (std::strncmp(text, "IndexError", 10) == 0) throw DeviceFault(text);
    throw Error(kAclnnInvalidParam, name + ": " + text);
  }
  api.ClearError();
  FoundShapes found;
  for (ptrdiff_t i = 0; i < api.TupleSize(result); ++i) {
    PyObject* pair = api.GetTupleItem(result, i);
    PyObject* extents = api.GetTupleItem(pair, 1);
    Shape shape;
    for (ptrdiff_t j = 0; j < api.TupleSize(extents); ++j) {
      shape.push_back(api.AsInteger(api.GetTupleItem(extents, j)));
    }
    found.emplace_back(api.AsInteger(api.GetTupleItem(pair, 0)), shape);
  }
  return found;
}

}  // namespace

std::shared_ptr<void> heldByPlan() {
  ++planned;
  return {nullptr, [](void*) { --planned; }};
}

bool hasPython() { return !closed && pythonApi() != nullptr; }

void requirePython(const std::string& name) {
  if (pythonApi() == nullptr) refuse(name, "this process has no Python");
  if (closed) refuse(name, "Python is ending");
  if (run_function != nullptr) return;
  Gil gil(*pythonApi());
  load(*pythonApi());
}

FoundShapes callPython(const std::string& name, const std::vector<Value>& arguments,
                       const std::vector<NamedValue>& attributes) {
  requirePython(name);
  const PythonApi& api = *pythonApi();
  Gil gil(api);
  PyObject* function = run_function;
  const Builder build(api);
  PyObject* parameters = build.tuple({build(name), build(arguments), build(attributes)});
  PyObject* result = api.Call(function, parameters);
  api.DecRef(parameters);
  try {
    FoundShapes found = opened(api, name, result);
    if (result != nullptr) api.DecRef(result);
    return found;
  } catch (const Error&) {
    if (result != nullptr) api.DecRef(result);
    throw;
  }
}

}  // namespace npusim
