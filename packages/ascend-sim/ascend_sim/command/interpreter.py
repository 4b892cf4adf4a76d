# SPDX-License-Identifier: Apache-2.0
"""Whose program a name means: a script of another Python does not see the torch_npu of this one."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from .errors import UnusableError

_PYTHON = re.compile(r"python[0-9.]*")
# Where pip's scripts name their Python: the first line, or the second if its path is long.
_SCRIPT = re.compile(
    r"#!(?:/bin/sh\n'''exec' )?\"?(?:/usr/bin/env +)?([^\s\"]*python[0-9.]*)[\s\"]"
)


def program_of_this_python(name: str, path: str) -> str:
    """``name``, or the program of that name beside this Python if ``path`` has another Python's.

    Raises:
        UnusableError: there is only a script of another Python.
    """
    found = shutil.which(name, path=path)
    if "/" in name or found is None:
        return name
    python = _python_of(Path(found), path)
    own = Path(sys.executable).parent
    if python is None or python.parent.resolve() == own.resolve():
        return name
    if beside := shutil.which(name, path=str(own)):
        return beside
    if _PYTHON.fullmatch(name):
        return name
    raise UnusableError(
        f"{found} is a program of {python}, and torch_npu is that of {sys.executable}: install "
        f"{name} there with '{sys.executable} -m pip install {name}', or give the program's path."
    )


def _python_of(program: Path, path: str) -> Path | None:
    """The Python that runs ``program``, or that it is; None for what is no Python's."""
    if _PYTHON.fullmatch(program.name):
        return program
    try:
        with program.open("rb") as stream:
            start = stream.read(512).decode("utf-8", "replace")
    except OSError:
        return None
    match = _SCRIPT.match(start)
    found = shutil.which(match[1], path=path) or match[1] if match else ""
    return Path(found) if found else None
