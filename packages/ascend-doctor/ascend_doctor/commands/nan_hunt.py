# SPDX-License-Identifier: Apache-2.0
"""``ascend-doctor nan-hunt``: which operator made the first inf or NaN?"""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from ascend_doctor.training.nan_hunt import hunt
from ascend_doctor.training.nan_hunt_report import hunt_json, hunt_text

from .options import parser

SUMMARY = "find the operator that made the first inf or NaN, in dumps of msprobe"

_FOUND = 8
_UNSURE = 1


def main(argv: Sequence[str]) -> int:
    """Search the dumps; the exit code is 8 if inf or NaN was found, 1 if it cannot be ruled out.

    Raises:
        FileError: no dump can be read.
    """
    options = parser(
        "nan-hunt",
        "Searches precision dumps of msprobe for the first operator whose inputs are finite and "
        "whose output is not, in each step and rank, and tells it apart from operators that only "
        "pass inf or NaN on and from those where they are normal.",
        "0 all is finite, 1 a dump is incomplete or has values that may stand for inf, 8 inf or "
        "NaN, 2 wrong use, 9 no dump can be read",
    )
    options.add_argument(
        "dump",
        metavar="DUMP",
        type=Path,
        help="a dump.json of msprobe, or a folder with dumps of steps and ranks",
    )
    options.add_argument("--json", action="store_true", help="print a JSON document")
    given = options.parse_args(argv)
    found = hunt(given.dump)
    print(hunt_json(found) if given.json else hunt_text(found), end="")
    if found.first:
        return _FOUND
    return _UNSURE if found.problems or found.saturated else 0
