# SPDX-License-Identifier: Apache-2.0
"""``build.py diff``: compare two images, records or commits."""

from __future__ import annotations

from dataclasses import dataclass

from cannery.cli import results
from cannery.cli.command import Command
from cannery.common import console
from cannery.common.errors import CanneryError, kind_of
from cannery.common.option import OptionSet, option
from cannery.matrix.project import Project
from cannery.options import FORMAT
from cannery.publish.difference import (
    Contents,
    commit_contents,
    difference,
    difference_json,
    difference_text,
    read_contents,
)

_SIDE = "an image, a target, a file below releases/, or with --target a commit"


@dataclass(frozen=True, kw_only=True)
class DiffOptions(OptionSet):
    """The two sides that are compared."""

    before: str = option(_SIDE, positional=True, metavar="A")
    after: str = option(_SIDE, positional=True, metavar="B")
    target: str = option("compare this target at two commits: A and B", default="", metavar="ID")
    format: str = FORMAT.field()


COMMAND = Command(
    description="Shows the packages, files, layers, sizes, variables and labels in which two "
    "images differ. A and B are local images, targets whose image is on this machine, or "
    "published images and records of them below releases/. With --target A and B are commits, "
    "whose matrix.yaml, lock and rendered files are compared for that target.",
    reads="images of the engine, releases/ and matrix.yaml; with --target git only",
    writes="nothing",
    example="diff py39-torch210-cann8rc2 py39-torch231-cann8t39",
    options=DiffOptions,
)


def run(options: DiffOptions, project: Project) -> None:
    """Print the differences; an error has the problems of both sides."""
    sides: list[Contents] = []
    errors: list[CanneryError] = []
    for name in dict.fromkeys((options.before, options.after)):
        try:
            if options.target:
                sides.append(commit_contents(project, name, options.target))
            else:
                sides.append(read_contents(project, name))
        except CanneryError as error:
            errors.append(error)
    if errors:
        problems = [problem for error in errors for problem in error.problems]
        raise kind_of(errors)([*dict.fromkeys(problems)])
    compared = difference(sides[0], sides[-1])
    if options.format == "json":
        results.show_text(difference_json(compared))
    else:
        print(difference_text(compared, console.width()))
