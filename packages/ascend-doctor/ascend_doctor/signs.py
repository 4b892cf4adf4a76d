# SPDX-License-Identifier: Apache-2.0
"""The signs by which lines of logs are told apart, which are the file signs.ini."""

from __future__ import annotations

import re
from typing import Pattern

from .ini import read_ini
from .lazy import once


@once
def _rows() -> dict[str, list[str]]:
    rows = read_ini(__name__, "signs.ini")
    return {name: [*filter(None, row["log"].split("\n"))] for name, row in rows.items()}


def patterns(name: str) -> list[Pattern[str]]:
    """The lines of a section, each a pattern for ASCII."""
    return [re.compile(line, re.ASCII) for line in _rows()[name]]


def pattern(name: str, flags: int = 0) -> Pattern[str]:
    """All lines of a section as one pattern."""
    return re.compile("|".join(_rows()[name]), flags)


def words(name: str) -> tuple[str, ...]:
    """The words of a section, one a line in quotes, which keep their spaces."""
    return tuple(line[1:-1] for line in _rows()[name])
