# SPDX-License-Identifier: Apache-2.0
"""``build.py render``: images/ from matrix.yaml, and the facts that are packed with the doctor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cannery import console
from cannery.cli.common import read
from cannery.errors import counted
from cannery.files import exclusive, write_files
from cannery.matrix.project import IN_SYNC, RENDERED, Project
from cannery.options.given import Given
from cannery.options.matrix import RenderOptions

if TYPE_CHECKING:
    from cannery.image.drift import Difference
    from cannery.model import Target


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
        targets, difference, rendered = _compared(project, options)
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
    if project.cache.get(IN_SYNC, inputs) is not None:
        return len(project.selected_ids(options.targets or ["*"], options.where))
    # Imported here and below, because none of it is needed to see that no file has changed.
    from cannery.image.drift import require_in_sync

    targets, difference, _ = _compared(project, options)
    require_in_sync(project, difference, "python build.py render")
    if len(targets) == len(project.selected_ids(["*"], [])):
        for entry in (RENDERED, IN_SYNC):
            project.cache.keep(entry, inputs)
    return len(targets)


def _compared(
    project: Project, options: RenderOptions
) -> tuple[list[Target], Difference, dict[Path, str]]:
    """The selected targets, and the files that are written: their differences and their texts."""
    from cannery.image.doctor_facts import facts_file
    from cannery.image.drift import compare, compare_file
    from cannery.image.render import Renderer
    from cannery.matrix.project import select

    matrix = project.matrix()
    targets = select(matrix, options.targets or ["*"], options.where)
    renderer = Renderer(project)
    rendered: dict[Path, str] = {}
    for target in targets:
        rendered |= renderer.render(target).paths(project)
    every = len(targets) == len(matrix.targets)
    difference = compare(project, rendered, matrix.targets if every else ())
    facts, text = facts_file(project, matrix, project.compat())
    changed = {**difference.changed, **compare_file(project, facts, text)}
    return targets, replace(difference, changed=changed), {**rendered, facts: text}
