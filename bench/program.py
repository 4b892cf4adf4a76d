# SPDX-License-Identifier: Apache-2.0
"""Runs a measurement as a program."""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from cannery.common.errors import CanneryError


def run_program(measured: Callable[[Namespace, Path], None], options: Namespace) -> int:
    """Measure with a folder for temporary files. Returns 0, or 2 after the message of an error."""
    try:
        with tempfile.TemporaryDirectory(prefix="cannery-bench-") as folder:
            measured(options, Path(folder))
    except CanneryError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
