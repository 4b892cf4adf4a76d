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
  d  compiling the software device
  e  all targets that can be built here, one after the other: time and bytes
  h  commands in a project of forty targets
  i  the image tests
  k  cold build with packages of real size
  l  disk that such packages take

All figures but h start a separate engine. They need root, dockerd, iproute2, iptables and disk
space (e: 40 GB; k, l: 6 GB and 5 times --real-size). All figures together take hours under
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
    _figures(parser)
    _results(parser)
    options = parser.parse_args(argv)
    if options.runs < 0:
        raise UsageError("--runs must not be negative.")
    if options.targets < 0:
        raise UsageError("--targets must not be negative.")
    if not 0 < options.real_size < float("inf"):
        raise UsageError("--real-size must be a positive number.")
    options.only = chosen(options.only)
    return options


def _figures(parser: argparse.ArgumentParser) -> None:
    letters = ",".join(LETTERS)
    parser.add_argument("--only", default=letters, metavar="a,b,...", help="measure only these")
    parser.add_argument(
        "--runs",
        type=int,
        default=0,
        metavar="N",
        help="samples of each figure (default: 3, or 1 if a sample takes many minutes)",
    )
    parser.add_argument("--target", default=MAIN, metavar="ID", help=f"default: {MAIN}")
    parser.add_argument(
        "--real-size",
        type=float,
        default=4.5,
        metavar="GB",
        help="size of the installed toolkit and kernels in figures k, l (default: 4.5)",
    )
    parser.add_argument(
        "--targets",
        type=int,
        default=0,
        metavar="N",
        help="figure e: N targets at equal distances in matrix.yaml (default: all, an hour)",
    )


def _results(parser: argparse.ArgumentParser) -> None:
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--new-machine",
        action="store_true",
        help="measure only README's two commands and .ci/run, on a machine without an engine",
    )
    instead.add_argument(
        "--draw", action="store_true", help="measure nothing, and draw the stored results again"
    )


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
