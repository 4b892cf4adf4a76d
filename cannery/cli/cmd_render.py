# SPDX-License-Identifier: Apache-2.0
"""``build.py render``: images/ from matrix.yaml."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cannery.cli.common import read
from cannery.common import console
from cannery.common.errors import counted
from cannery.common.files import write_files
from cannery.common.model import Target
from cannery.image.drift import Difference, compare, require_in_sync
from cannery.image.render import Renderer
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project, select
from cannery.options.given import Given
from cannery.options.matrix import RenderOptions
from cannery.publish.policy import load


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
    # Two runs at once would take each other's temporary files for strays, and remove files twice.
    with project.editing():
        matrix = project.matrix()
        targets = select(matrix, options.targets or ["*"], options.where)
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
    console.say(f"{counted(len(targets), 'target')} rendered")
    return 0


def _check(project: Project, options: RenderOptions) -> int:
    """The number of targets that were compared.

    Raises:
        OutOfSyncError: something differs.
        MatrixError, FileError: as ``load`` and ``Renderer.render``.
    """
    matrix = project.matrix()
    load(project.publish_file, matrix)
    targets = select(matrix, options.targets or ["*"], options.where)
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
