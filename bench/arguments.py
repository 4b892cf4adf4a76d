# SPDX-License-Identifier: Apache-2.0
"""The options of ``python -m bench``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from bench.figures import LETTERS, ON_ENGINE, WITHOUT_ENGINE
from cannery.common.errors import UsageError, did_you_mean

ROOT = Path(__file__).resolve().parent.parent
MAIN = "py39-torch231-cann8t39"

_EPILOG = """\
figures:
  a  cold build
  c  rebuild after one library moved
  e  all targets that can be built here, one after the other: time and bytes
  h  commands in a project of forty targets
  i  the image tests
  k  cold build with packages of real size

All figures but h start a separate engine. They need root, dockerd, iproute2, iptables and disk
space (e: 40 GB; k: 6 GB and 5 times --real-size). All figures together take hours under
emulation.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. 'python -m bench --help' lists the options.")


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options in ``argv``.

    Raises:
        UsageError: one is unknown, or has an impossible value.
    """
    parser = _Parser(
        prog="python -m bench",
        description="Compares this checkout with the usual way to build NPU images.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add, letters = parser.add_argument, ",".join(LETTERS)
    runs = "samples of each figure (default: 3, or 1 if a sample takes many minutes)"
    size = "size of the installed toolkit and kernels in figure k (default: 4.5)"
    new = "measure only README's two commands and .ci/run, on a machine without an engine"
    add("--only", default=letters, metavar="a,b,...", help="measure only these")
    add("--runs", type=int, default=0, metavar="N", help=runs)
    add("--target", default=MAIN, metavar="ID", help=f"default: {MAIN}")
    add("--real-size", type=float, default=4.5, metavar="GB", help=size)
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--new-machine", action="store_true", help=new)
    instead.add_argument("--draw", action="store_true", help="only draw the stored results again")
    options = parser.parse_args(argv)
    if options.runs < 0:
        raise UsageError("--runs must not be negative.")
    if not 0 < options.real_size < float("inf"):
        raise UsageError("--real-size must be a positive number.")
    options.only = chosen(options.only)
    return options


def chosen(text: str) -> list[str]:
    """The letters of figures in ``text``, in the order in which they are measured.

    Raises:
        UsageError: a letter is unknown, or there is none.
    """
    letters = {letter.strip() for letter in text.split(",") if letter.strip()}
    if unknown := sorted(letters - {*LETTERS}):
        hint = did_you_mean(unknown[0], LETTERS)
        raise UsageError(f"there is no figure {unknown[0]!r}. {hint}")
    if not letters:
        raise UsageError("--only names no figure.")
    return [letter for letter in (*WITHOUT_ENGINE, *ON_ENGINE) if letter in letters]
