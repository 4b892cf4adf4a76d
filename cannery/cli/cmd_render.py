# SPDX-License-Identifier: Apache-2.0
"""``build.py render``: images/ from matrix.yaml."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cannery.cli.common import read
from cannery.common import console
from cannery.common.errors import counted
from cannery.common.files import exclusive, write_files
from cannery.matrix.project import EACH_IN_SYNC, IN_SYNC, RENDERED, Project, select
from cannery.options.given import Given
from cannery.options.matrix import RenderOptions

if TYPE_CHECKING:
    from cannery.common.model import Matrix, Target
    from cannery.image.drift import Difference


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
    with exclusive(project.state / "render.lock"):
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
    """The number of targets that were compared, now or when what they depend on was the same.

    Raises:
        OutOfSyncError: something differs.
    """
    inputs = project.rendering_inputs()
    if (count := project.cache.get(IN_SYNC, inputs)) is not None:
        if not options.targets and not options.where:
            return int(count)
        return len(project.selected_ids(options.targets or ["*"], options.where))
    # Imported here and below, because none of it is needed to see that no file has changed.
    from cannery.image.drift import require_in_sync

    matrix = project.matrix()
    targets = select(matrix, options.targets or ["*"], options.where)
    every = len(targets) == len(matrix.targets)
    each = project.inputs_of_targets(targets)
    same = project.cache.noted(EACH_IN_SYNC, each)
    changed = [target for target in targets if target.id not in same]
    difference, _ = _compared(project, matrix, changed, every=every)
    require_in_sync(project, difference, "python build.py render")
    if every:
        project.cache.keep(RENDERED, inputs)
        project.cache.keep(IN_SYNC, inputs, str(len(targets)))
        project.cache.note(EACH_IN_SYNC, each)
    return len(targets)


def _compared(
    project: Project, matrix: Matrix, targets: Iterable[Target], *, every: bool
) -> tuple[Difference, dict[Path, str]]:
    """The differences of the files of ``targets``, and all texts.

    With ``every`` also files that belong to no target of ``matrix`` are differences.
    """
    from cannery.image.drift import compare
    from cannery.image.render import Renderer

    renderer = Renderer(project)
    rendered: dict[Path, str] = {}
    for each in renderer.render_all(targets).values():
        rendered |= each.paths(project)
    return compare(project, rendered, matrix.targets if every else ()), rendered
