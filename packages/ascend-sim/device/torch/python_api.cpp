// SPDX-License-Identifier: Apache-2.0
#include "python_api.h"

#include <dlfcn.h>

namespace npusim {
namespace {

template <class Function>
bool find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

bool fill(PythonApi& api) {
  return find(api.IsInitialized, "Py_IsInitialized") && find(api.EnsureGil, "PyGILState_Ensure") &&
         find(api.ReleaseGil, "PyGILState_Release") && find(api.RunString, "PyRun_SimpleString") &&
         find(api.ImportModule, "PyImport_ImportModule") &&
         find(api.GetAttribute, "PyObject_GetAttrString") &&
         find(api.Call, "PyObject_CallObject") && find(api.DecRef, "Py_DecRef") &&
         find(api.IncRef, "Py_IncRef") && find(api.ClearError, "PyErr_Clear") &&
         find(api.NewTuple, "PyTuple_New") && find(api.SetTupleItem, "PyTuple_SetItem") &&
         find(api.GetTupleItem, "PyTuple_GetItem") && find(api.TupleSize, "PyTuple_Size") &&
         find(api.NewInteger, "PyLong_FromLongLong") && find(api.AsInteger, "PyLong_AsLongLong") &&
         find(api.NewFloat, "PyFloat_FromDouble") && find(api.NewBool, "PyBool_FromLong") &&
         find(api.NewComplex, "PyComplex_FromDoubles") &&
         find(api.NewText, "PyUnicode_DecodeUTF8") &&
         find(api.AsText, "PyUnicode_AsUTF8AndSize") &&
         find(api.NewMemoryView, "PyMemoryView_FromMemory") && find(api.none, "_Py_NoneStruct");
}

}  // namespace

const PythonApi* pythonApi() {
  static PythonApi api;
  static const bool complete = fill(api);
  return complete && api.IsInitialized() ? &api : nullptr;
}

}  // namespace npusim
