# SPDX-License-Identifier: Apache-2.0
"""triton-ascend, whose module is called triton."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

Facts = dict[str, Any]

WHOSE = """
import triton, triton.language
from triton.backends import backends
print('backends', *sorted(backends))
"""


def test_version(facts: Facts, record: Facts) -> None:
    """triton-ascend is the target's version."""
    found = facts["distributions"]["triton-ascend"]["version"]
    assert found == record["components"]["triton_ascend"]


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
