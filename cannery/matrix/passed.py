# SPDX-License-Identifier: Apache-2.0
"""Remembers the last matrix.yaml that passed, so that equal files are not judged again.

Judging takes most of the time in which a command reads the matrix. The result depends only on the
two files and on this code, and a matrix that passed is the same with and without the facts.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import packaging

from cannery.errors import FileError
from cannery.files import write_files

_CODE = Path(__file__).parents[1]
_JUDGING = ("*.py", "compat/*.py", "matrix/*.py", "matrix/*.yaml", "syntax/*.py")


def stamp_of(matrix: str, facts: str) -> str:
    """What stands for these texts of matrix.yaml and compat.yaml, and for the code that judges."""
    code = [
        (path.name, info.st_size, info.st_mtime_ns)
        for pattern in _JUDGING
        for path in sorted(_CODE.glob(pattern))
        for info in [path.stat()]
    ]
    inputs = repr((matrix, facts, packaging.__version__, code))
    return hashlib.sha256(inputs.encode()).hexdigest()


def has_passed(stamp: str, file: Path) -> bool:
    """Whether ``file`` says that what ``stamp`` stands for has passed."""
    try:
        return file.read_text(encoding="utf-8") == stamp
    except (OSError, UnicodeDecodeError):
        return False


def keep(stamp: str, file: Path) -> None:
    """Write into ``file`` that what ``stamp`` stands for has passed, if it can be written."""
    with suppress(FileError):
        write_files({file: stamp})
