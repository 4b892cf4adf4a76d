# SPDX-License-Identifier: Apache-2.0
"""``build.py align``: do two training runs have the same losses?"""

from __future__ import annotations

from cannery.cli.common import read
from cannery.common import console
from cannery.common.files import write_files
from cannery.matrix.project import Project
from cannery.options.align import AlignOptions
from cannery.options.given import Given
from cannery.training.align import Verdict, align
from cannery.training.alignment_report import alignment_json, alignment_svg, alignment_text
from cannery.training.loss_log import read_loss_log

_CODES = {Verdict.ALIGNED: 0, Verdict.INCOMPLETE: 1, Verdict.PARTED: 8}


def run(given: Given, project: Project) -> int:
    """Compare both logs; the exit code is 0, 1 if they cannot be judged, or 8 if they part.

    Raises:
        TrainingError, FileError: as ``read_loss_log`` and ``write_files``.
    """
    options = read(AlignOptions, given, project)
    found = align(
        read_loss_log(options.reference),
        read_loss_log(options.run),
        steps=options.steps,
        tolerance=options.tolerance,
    )
    print(alignment_json(found) if options.json else alignment_text(found), end="")
    if options.svg:
        write_files({options.svg: alignment_svg(found)})
        console.say(f"wrote {options.svg}", "ok")
    return _CODES[found.verdict]
