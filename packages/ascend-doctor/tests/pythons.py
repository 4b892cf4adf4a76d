# SPDX-License-Identifier: Apache-2.0
"""The Pythons of this machine that the program must run on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REQUIRED = os.environ.get("DOCTOR_PYTHONS", "").split()
"""Without these versions tests fail; 'nox -s doctor-pythons' sets it."""


def interpreter(version: str) -> str:
    """A Python of this version; without one the test is skipped, or fails if it is required."""
    if python := found(version):
        return python
    if version in REQUIRED:
        pytest.fail(f"there is no Python {version}: uv python install {version}")
    pytest.skip(f"there is no Python {version}")


def found(version: str) -> str | None:
    """A Python of this version: of pyenv beside that which runs this, of uv, or on the path."""
    beside = [*Path(sys.base_prefix).parent.glob(f"{version}.*/bin/python{version}")]
    uv = ["uv", "python", "find", "--no-project", "--no-python-downloads", version]
    of_uv = subprocess.run(uv, capture_output=True, text=True, check=False) if _has_uv() else None
    for python in (*map(str, beside), of_uv and of_uv.stdout.strip(), which(version)):
        if python and not _fails(python, "-c", ""):
            return python
    return None


def which(version: str) -> str | None:
    """The Python of this version on the path."""
    return shutil.which(f"python{version}")


def _has_uv() -> bool:
    return shutil.which("uv") is not None


def _fails(*argv: str) -> bool:
    return bool(subprocess.run(argv, capture_output=True, check=False).returncode)


if __name__ == "__main__":
    print(*(version for version in sys.argv[1:] if not found(version)))
