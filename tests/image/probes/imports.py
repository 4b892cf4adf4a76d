# SPDX-License-Identifier: Apache-2.0
"""Runs in the container: imports what it is told to, and prints what happened."""

import importlib
import json
import sys

answer = {}
for name in sys.argv[1:]:
    try:
        module = importlib.import_module(name)
        answer[name] = {"version": str(getattr(module, "__version__", "")), "error": ""}
    except BaseException as error:
        answer[name] = {"version": "", "error": "%s: %s" % (type(error).__name__, error)}
if "torch" in sys.modules:
    torch = sys.modules["torch"]
    answer["cxx11_abi"] = bool(torch.compiled_with_cxx11_abi())
    answer["npu_available"] = bool(torch.npu.is_available()) if hasattr(torch, "npu") else None
print(json.dumps(answer))
