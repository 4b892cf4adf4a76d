# SPDX-License-Identifier: Apache-2.0
"""``ascend-doctor smoke``: a short test of the cards here, and a comparison with other hosts."""

from __future__ import annotations

import argparse
import importlib.util
import platform
import sys
from typing import Sequence

from ascend_doctor.host import Host
from ascend_doctor.machine import Machine
from ascend_doctor.smoke.compare import compare
from ascend_doctor.smoke.model import Document, parse_document, to_json
from ascend_doctor.smoke.report import to_comparison, to_text
from ascend_doctor.smoke.run import SECONDS, SIMULATED_SECONDS, smoke
from ascend_doctor.untrusted import read_files, write_text

from .options import parser, whole

SUMMARY = "test the cards of this host or container in a minute"

_FAILED = 8
_MOST_CARDS = 64


def main(argv: Sequence[str]) -> int:
    """Test the cards, or compare what earlier tests wrote; the exit code is 8 if a check failed.

    Raises:
        UsageError: there are fewer cards.
        FileError: a file with results cannot be read, and nothing is run then; or there is no card.
    """
    options = _options()
    given = options.parse_args(argv)
    others = read_files(given.compare or given.against, parse_document)
    if given.compare:
        if len(given.compare) < 2:
            options.error("--compare needs two files; --against tests this host as well")
        if given.json:
            options.error("--json has the results of a test, and --compare runs none")
        _print_comparisons(others[0], others[1:])
        return 0
    machine = Machine(Host(), {})
    python = given.python or _python(machine)
    document = smoke(machine, given.name, python, given.cards, given.seconds)
    print(to_json(document) if given.json == "-" else to_text(document), end="")
    if given.json not in (None, "-"):
        write_text(given.json, to_json(document))
    _print_comparisons(document, others)
    return _FAILED if document.failures else 0


def _print_comparisons(first: Document, others: Sequence[Document]) -> None:
    for other in others:
        print("\n" + to_comparison(first, other, compare(first, other)), end="")


def _python(machine: Machine) -> str:
    """This Python if it has torch, else that of the image."""
    own = sys.executable or "python3"
    if importlib.util.find_spec("torch"):
        return own
    return str(machine.image.get("interpreter") or own)


def _options() -> argparse.ArgumentParser:
    options = parser(
        "smoke",
        "Multiplies matrices of each type and compares them with the CPU, measures the memory and "
        "an all-reduce beside the bandwidth of the hardware where a source has it, and trains a "
        "tiny model. Needs torch and torch_npu. On a simulated device no speed is measured.",
        "0 all checks passed, 8 a check failed, 2 wrong use, 9 no card can be used, or a file "
        "cannot be read",
    )
    options.add_argument(
        "--cards",
        metavar="N",
        type=whole(1, _MOST_CARDS),
        default=0,
        help="the number of cards of the all-reduce (default: all; 2 on a simulated device)",
    )
    options.add_argument(
        "--seconds",
        metavar="SECONDS",
        type=whole(10, 3600),
        default=0,
        help="the time after which it is stopped "
        f"(default: {SECONDS}; {SIMULATED_SECONDS} on a simulated device)",
    )
    options.add_argument(
        "--python",
        metavar="FILE",
        help="the Python with torch and torch_npu (default: this one, or that of the image)",
    )
    options.add_argument(
        "--name",
        metavar="NAME",
        default=platform.node(),
        help="the name of the host in the results (default: its own, which in a container is that "
        "of the container)",
    )
    options.add_argument(
        "--json", metavar="FILE", help="write the results as JSON, for --compare; - prints them so"
    )
    _add_results(options)
    return options


def _add_results(options: argparse.ArgumentParser) -> None:
    """Options about the results of other hosts."""
    others = options.add_mutually_exclusive_group()
    others.add_argument(
        "--against",
        metavar="FILE",
        nargs="+",
        default=[],
        help="then compare with the results of other hosts",
    )
    others.add_argument(
        "--compare",
        metavar="FILE",
        nargs="+",
        default=[],
        help="test nothing, and compare the first of these results with the others",
    )
