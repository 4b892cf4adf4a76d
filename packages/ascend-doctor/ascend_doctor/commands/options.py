# SPDX-License-Identifier: Apache-2.0
"""What the options of several subcommands have in common."""

from __future__ import annotations

import argparse
from typing import Callable


def parser(name: str, description: str, codes: str) -> argparse.ArgumentParser:
    """The parser of the subcommand ``name``; ``codes`` says what its exit codes mean."""
    return argparse.ArgumentParser(
        prog=f"ascend-doctor {name}",
        description=description,
        epilog=f"Exit code: {codes}.",
        allow_abbrev=False,
    )


def whole(least: int, most: int) -> Callable[[str], int]:
    """Reads a number from ``least`` to ``most``."""

    def read(text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most:
            return int(text)
        hint = f"Use one from {least} to {most}."
        raise argparse.ArgumentTypeError(f"invalid number {text!r}. {hint}")

    return read


def percent(text: str) -> float:
    """Reads a number above 0 and up to 100."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 100:
        hint = "Use a number above 0, at most 100."
        raise argparse.ArgumentTypeError(f"invalid percentage {text!r}. {hint}")
    return value
