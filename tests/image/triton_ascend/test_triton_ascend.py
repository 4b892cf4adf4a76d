# SPDX-License-Identifier: Apache-2.0
"""triton-ascend, whose module is called triton."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

Facts = dict[str, Any]
PROBES = Path(__file__).parents[1] / "probes"

WHOSE = """
import triton, triton.language
from triton.backends import backends
print('backends', *sorted(backends))
"""


def test_version(facts: Facts, locked: Any) -> None:
    """triton-ascend is the target's version."""
    found = facts["distributions"]["triton-ascend"]["version"]
    assert found in locked("triton-ascend")


def test_module(host: Host, devlib: str) -> None:
    """The module triton is that of triton-ascend, which no other package has overwritten."""
    result = host.run(f"{devlib} python3 -c %s", WHOSE)
    assert result.rc == 0, result.stderr
    assert "backends ascend" in result.stdout, result.stdout


COMPILER = """
import os, shutil
from triton.backends.ascend import utils
found = shutil.which("bishengir-compile")
asked = utils._get_npucompiler_path() if hasattr(utils, "_get_npucompiler_path") else found
print("compiler", found, asked, os.access(asked, os.X_OK))
"""


def test_compiler(host: Host, devlib: str, record: Facts) -> None:
    """The compiler of kernels is found as triton-ascend looks for it, and it starts."""
    result = host.run(f"{devlib} python3 -c %s", COMPILER)
    assert result.rc == 0, result.stderr
    path = f"{record['toolkit_home']}/tools/bishengir/bin/bishengir-compile"
    assert f"compiler {path} {path} True" in result.stdout, result.stdout
    assert host.run("bishengir-compile --help").rc == 0


# triton reads the source of a kernel from a file. Nothing of it stays.
IN_A_FILE = """
import base64, os, runpy, sys, tempfile
with tempfile.TemporaryDirectory() as folder:
    os.environ['TRITON_CACHE_DIR'] = folder
    with open(folder + '/kernel.py', 'wb') as stream:
        stream.write(base64.b64decode(sys.argv.pop(1)))
    runpy.run_path(stream.name)
"""
CHIPS = {"910b": "Ascend910B3", "a3": "Ascend910_9391"}
"""Chip to one of the names that the compiler has for it."""


def test_compiles_a_kernel(host: Host, devlib: str, record: Facts) -> None:
    """triton-ascend compiles a kernel with CANN's compiler; that takes no card."""
    version = record["components"]["triton_ascend"]
    if version != "3.2.0":
        pytest.skip(f"how {version} asks for the chip is not known; its wheel is in no index")
    program = base64.b64encode((PROBES / "kernel.py").read_bytes()).decode()
    result = host.run(f"{devlib} python3 -c %s %s %s", IN_A_FILE, program, CHIPS[record["chip"]])
    assert result.rc == 0, result.stdout + result.stderr
    assert re.search(r"^object of [1-9]\d* bytes$", result.stdout, re.MULTILINE), result.stdout
