# SPDX-License-Identifier: Apache-2.0
"""Reads the compat.yaml that a matrix is judged by, which is in the same folder."""

from __future__ import annotations

from pathlib import Path

from cannery.common.errors import FileError, Problem
from cannery.common.yaml_limits import read_limited
from cannery.compat import Compat, parse_compat
from cannery.matrix.files import FACTS


def read_facts(matrix: Path) -> str:
    """The text of compat.yaml in the folder of ``matrix``, even where ``matrix`` is a link.

    Raises:
        FileError: there is none, or it cannot be read.
        MatrixError: it is too large, or is not UTF-8 text.
    """
    path = matrix.parent / FACTS
    if not path.exists():
        what = f"cannot read {path}: no such file or directory."
        fix = f"{matrix.name} is judged by the {FACTS} in the same folder. Put it there."
        raise FileError(Problem(what=what, fix=fix))
    return read_limited(path, FACTS)


def parse_facts(text: str) -> Compat:
    """The facts in ``text``, the content of compat.yaml.

    Raises:
        MatrixError: with every problem found, each with its line.
    """
    return parse_compat(text, FACTS)
