// SPDX-License-Identifier: Apache-2.0
// The few functions of Python's stable C interface that are used here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace npusim {

using PyObject = void;

struct PythonApi {
  int (*IsInitialized)();
  int (*EnsureGil)();
  void (*ReleaseGil)(int);
  int (*RunString)(const char*);
  PyObject* (*ImportModule)(const char*);
  PyObject* (*GetAttribute)(PyObject*, const char*);
  PyObject* (*Call)(PyObject*, PyObject*);
  void (*DecRef)(PyObject*);
  void (*IncRef)(PyObject*);
  void (*ClearError)();
  PyObject* (*NewTuple)(ptrdiff_t);
  int (*SetTupleItem)(PyObject*, ptrdiff_t, PyObject*);
  PyObject* (*GetTupleItem)(PyObject*, ptrdiff_t);
  ptrdiff_t (*TupleSize)(PyObject*);
  PyObject* (*NewInteger)(long long);
  long long (*AsInteger)(PyObject*);
  PyObject* (*NewFloat)(double);
  PyObject* (*NewBool)(long);
  PyObject* (*NewComplex)(double, double);
  PyObject* (*NewText)(const char*, ptrdiff_t, const char*);
  const char* (*AsText)(PyObject*, ptrdiff_t*);
  PyObject* (*NewMemoryView)(char*, ptrdiff_t, int);
  PyObject* none;
};

// Null where the process has no Python, or one without these functions.
const PythonApi* pythonApi();

}  // namespace npusim
