# SPDX-License-Identifier: Apache-2.0
"""``build.py explain``: the sources that allow each component of a target."""

from __future__ import annotations

from dataclasses import dataclass

from cannery.cli.command import Command
from cannery.cli.common import judged, show
from cannery.common import console
from cannery.compat.check_report import Judged, explanation
from cannery.matrix.project import Project
from cannery.options import FORMAT, TARGET, VERBOSE, TargetOptions


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(TargetOptions):
    """Which targets are explained, and how fully."""

    targets: tuple[str, ...] = TARGET.field(default=())
    verbose: bool = VERBOSE.field(help="show all that each row and its sources say")
    format: str = FORMAT.field()


COMMAND = Command(
    description="For each component of a target, shows the row of compat.yaml that allows it, with "
    "its source and date. Where sources disagree, shows both sides. Names the definitions of "
    "matrix.yaml that replace or extend one that comes with the program.",
    reads="matrix.yaml and compat.yaml",
    writes="nothing",
    example="explain py39-torch231-cann8t39",
    options=ExplainOptions,
    one_of=("targets", "where"),
)


def run(options: ExplainOptions, project: Project) -> None:
    """Print every finding on the named targets, with the rows for it and those against it."""

    def text(targets: Judged) -> str:
        width, matrix = console.reading_width(), project.matrix()
        texts = []
        for target, findings in targets:
            changes = console.fold([f"  {text}" for text in matrix.changes_for(target)], width)
            shown = explanation(target, findings, width, verbose=options.verbose)
            texts.append("\n".join([shown, *changes]))
        return "\n\n".join(texts)

    show(judged(options, project), text, as_json=options.format == "json")
