# SPDX-License-Identifier: Apache-2.0
"""Keeps each result in a file, so that an interrupted run goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from conformance.program import write_file

Result = TypeVar("Result")


def kept(path: Path, make: Callable[[], Result]) -> Result:
    """What the file says, or what ``make`` returns, which is then in the file."""
    if path.is_file():
        found: Result = json.loads(path.read_text(encoding="utf-8"))
        return found
    made = make()
    write_file(path, json.dumps(made, indent=1) + "\n")
    return made
