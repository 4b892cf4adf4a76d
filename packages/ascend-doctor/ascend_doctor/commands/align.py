# SPDX-License-Identifier: Apache-2.0
"""``ascend-doctor align``: do two training runs have the same losses?"""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from ascend_doctor.training.align import Verdict, align
from ascend_doctor.training.alignment_report import alignment_json, alignment_text
from ascend_doctor.training.loss_log import read_loss_log

from .options import parser, percent, whole

SUMMARY = "compare the losses of a training run with a reference"

_CODES = {Verdict.ALIGNED: 0, Verdict.INCOMPLETE: 1, Verdict.PARTED: 8, Verdict.DRIFTED: 8}


def main(argv: Sequence[str]) -> int:
    """Compare both logs; the exit code is 0, 1 if they cannot be judged, or 8 if they part.

    Raises:
        FileError: a log cannot be read, or has no loss.
    """
    options = parser(
        "align",
        "Compares the first training losses of two logs: the first one must be the same, the next "
        "ones close. Says at which step the runs part, what that hints at, and who says so. Reads "
        "logs of HF Trainer, LLaMA-Factory, ms-swift, MindSpore, MindFormers, Megatron and verl.",
        "0 aligned, 1 too few losses, 8 the runs part, 2 wrong use, 9 unreadable log",
    )
    options.add_argument(
        "reference",
        metavar="REFERENCE",
        type=Path,
        help="the log of the run that trains right, as on another machine",
    )
    options.add_argument("run", metavar="RUN", type=Path, help="the log of the run to check")
    options.add_argument(
        "--steps",
        metavar="N",
        type=whole(1, 1_000_000),
        default=10,
        help="compare the first N losses that both logs have (default: 10)",
    )
    options.add_argument(
        "--tolerance",
        metavar="PERCENT",
        type=percent,
        default=1.0,
        help="how far a loss may be from the reference; the first one may be half as far "
        "(default: 1)",
    )
    options.add_argument("--json", action="store_true", help="print a JSON document")
    given = options.parse_args(argv)
    found = align(
        read_loss_log(given.reference),
        read_loss_log(given.run),
        steps=given.steps,
        tolerance=given.tolerance,
    )
    print(alignment_json(found) if given.json else alignment_text(found), end="")
    return _CODES[found.verdict]
