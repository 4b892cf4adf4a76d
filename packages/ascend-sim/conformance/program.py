# SPDX-License-Identifier: Apache-2.0
"""Runs a measurement as a program, and writes what it found."""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from ascend_sim.command.errors import SimError


def run_program(measured: Callable[[Namespace, Path], None], options: Namespace) -> int:
    """Measure with a folder for temporary files. Returns 0, or 2 after the message of an error."""
    try:
        with tempfile.TemporaryDirectory(prefix="ascend-sim-") as folder:
            measured(options, Path(folder))
    except SimError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def write_file(path: Path, text: str) -> None:
    """Write the whole file, or leave what is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
