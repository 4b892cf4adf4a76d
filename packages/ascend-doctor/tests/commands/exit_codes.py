# SPDX-License-Identifier: Apache-2.0
"""The program as a shell sees it, which argparse also ends."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_doctor import command


def main(words: Sequence[str]) -> int:
    """The exit code for ``words``."""
    try:
        return command.main(words)
    except SystemExit as stop:
        return int(str(stop.code))
