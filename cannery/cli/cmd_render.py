# SPDX-License-Identifier: Apache-2.0
"""``build.py render``: images/ from matrix.yaml."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cannery.cli.command import Command, Given
from cannery.cli.common import read
from cannery.common import console
from cannery.common.errors import counted
from cannery.common.files import write_files
from cannery.common.model import Target
from cannery.common.option import flag
from cannery.image.drift import Difference, compare, require_in_sync
from cannery.image.render import Renderer
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project, select
from cannery.options import TargetOptions
from cannery.publish.policy import load


@dataclass(frozen=True, kw_only=True)
class RenderOptions(TargetOptions):
    """Whether images/ is written."""

    check: bool = flag("write nothing; exit with code 4 if images/ is out of date")


COMMAND = Command(
    description="Writes the Dockerfile and the other files of each target below images/ from "
    "matrix.yaml, the templates and the locks. Removes the folders of targets that no longer "
    "exist. Run it after every change of matrix.yaml, and commit the result; builds refuse "
    "to start while images/ is out of date.",
    reads="matrix.yaml, the locks and the templates",
    writes="images/; only files that build.py has written are replaced or removed",
    example="render --target py39-torch231-cann8t39",
    options=(RenderOptions,),
    quick=True,
)


def run(given: Given, project: Project) -> int:
    """Write what differs, or with --check fail if anything does.

    Raises:
        OutOfSyncError: with --check, the differences as diffs.
        MatrixError, FileError: as ``Renderer.render`` and ``write_files``.
    """
    options = read(RenderOptions, given, project)
    if options.check:
        count = _check(project, options)
        console.say(f"images/ is in sync ({counted(count, 'target')})", "ok")
        return 0
    write_images(project, options)
    return 0


def write_images(project: Project, options: TargetOptions | None = None) -> list[Path]:
    """Render the chosen targets, and return the files that have changed."""
    options = options or TargetOptions()
    # Two runs at once would take each other's temporary files for strays, and remove files twice.
    with project.editing():
        matrix = project.matrix()
        targets = select(matrix, options.targets, options.where)
        every = len(targets) == len(matrix.targets)
        difference, rendered = _compared(project, matrix, targets, every=every)
        changed = {path: rendered[path] for path in difference.changed}
        write_files(changed, remove=difference.orphans)
    for verb, paths in (
        ("wrote", difference.changed),
        ("removed", difference.orphans),
        ("left alone, because build.py did not write it:", difference.strays),
    ):
        for path in paths:
            console.say(f"{verb} {path.relative_to(project.root)}")
    console.say(f"{counted(len(targets), 'target')} rendered", "ok")
    if difference.changed and len(targets) == 1:
        console.say(f"now build it: python build.py build {targets[0].id}")
    return [*difference.changed, *difference.orphans]


def _check(project: Project, options: RenderOptions) -> int:
    """The number of targets that were compared.

    Raises:
        OutOfSyncError: something differs.
        MatrixError, FileError: as ``load`` and ``Renderer.render``.
    """
    matrix = project.matrix()
    load(project.publish_file, matrix)
    targets = select(matrix, options.targets, options.where)
    every = len(targets) == len(matrix.targets)
    difference, _ = _compared(project, matrix, targets, every=every)
    require_in_sync(project, difference, "python build.py render")
    return len(targets)


def _compared(
    project: Project, matrix: Matrix, targets: Iterable[Target], *, every: bool
) -> tuple[Difference, dict[Path, str]]:
    """The differences of the files of ``targets``, and all texts.

    With ``every`` also files that belong to no target of ``matrix`` are differences.
    """
    renderer = Renderer(project)
    rendered: dict[Path, str] = {}
    for each in renderer.render_all(targets).values():
        rendered |= each.paths(project)
    return compare(project, rendered, matrix.targets if every else ()), rendered
