# SPDX-License-Identifier: Apache-2.0
"""Runs in the container: imports what it is told to, and prints what happened."""

import importlib
import json
import os
import sys

# Of every file in a layer. A file that Python compiles now is younger.
DATE = 946684800


def not_compiled():
    """The sources of modules that no layer has compiled."""
    for module in list(sys.modules.values()):
        # torch.ops has any attribute that it is asked for.
        source, cached = vars(module).get("__file__"), vars(module).get("__cached__")
        # A link, such as Debian's sitecustomize.py, is not compiled in a layer.
        if not source or not cached or not source.endswith(".py") or os.path.islink(source):
            continue
        if not os.path.exists(cached) or int(os.path.getmtime(cached)) != DATE:
            yield source


def of_devlib():
    """What this process has loaded of CANN's stand-ins for the driver."""
    with open("/proc/self/maps") as stream:
        return sorted({line.split()[-1] for line in stream if "/devlib/" in line})


answer = {}
for name in sys.argv[1:]:
    try:
        module = importlib.import_module(name)
        answer[name] = {"version": str(getattr(module, "__version__", "")), "error": ""}
    except BaseException as error:
        answer[name] = {"version": "", "error": "%s: %s" % (type(error).__name__, error)}
    if name == "torch":
        answer["of_devlib"] = of_devlib()
if "torch" in sys.modules:
    torch = sys.modules["torch"]
    answer["cxx11_abi"] = bool(torch.compiled_with_cxx11_abi())
    answer["npu_available"] = bool(torch.npu.is_available()) if hasattr(torch, "npu") else None
answer["not_compiled"] = sorted(not_compiled())
print(json.dumps(answer))
