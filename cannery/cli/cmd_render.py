# SPDX-License-Identifier: Apache-2.0
"""``build.py render``: images/ from matrix.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cannery.cli.command import Command
from cannery.cli.common import selected
from cannery.common import console
from cannery.common.errors import counted
from cannery.common.model import Target
from cannery.common.option import flag
from cannery.image.drift import Difference, compare, require_in_sync
from cannery.image.render import Renderer, tool_record, upgrade_note
from cannery.matrix.project import Project
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
    options=RenderOptions,
    quick=True,
)


def run(options: RenderOptions, project: Project) -> None:
    """Write what differs, or with --check fail with the differences as diffs."""
    if not options.check:
        write_images(project, options)
        return
    load(project.publish_file, project.matrix())
    targets, difference, _ = _compared(project, options)
    if difference.changed and (note := upgrade_note(project)):
        console.say(f"{note}; what differs is shown below", "warning")
    require_in_sync(project, difference, "python build.py render")
    console.say(f"images/ is in sync ({counted(len(targets), 'target')})", "ok")


def write_images(project: Project, options: TargetOptions | None = None) -> list[Path]:
    """Render the chosen targets, and return the files that have changed."""
    # Two runs at once would take each other's temporary files for strays, and remove files twice.
    with project.editing():
        targets, difference, rendered = _compared(project, options or TargetOptions())
        note = upgrade_note(project) if difference.changed else ""
        changed = {path: rendered[path] for path in difference.changed}
        project.write(changed, remove=difference.orphans)
    for verb, paths in (
        ("wrote", difference.changed),
        ("removed", difference.orphans),
        ("left alone, because build.py did not write it:", difference.strays),
    ):
        for path in paths:
            console.say(f"{verb} {path.relative_to(project.root)}")
    console.say(f"{counted(len(targets), 'target')} rendered", "ok")
    if note:
        console.say(f"{note}: its images differ; see 'git diff images'", "warning")
    if difference.changed and len(targets) == 1:
        console.say(f"now build it: python build.py build {targets[0].id}")
    return [*difference.changed, *difference.orphans]


def _compared(
    project: Project, options: TargetOptions
) -> tuple[list[Target], Difference, dict[Path, str]]:
    targets, matrix = selected(options, project), project.matrix()
    rendered: dict[Path, str] = {}
    renderer = Renderer(project)
    for image in renderer.render_all(targets).values():
        rendered |= image.paths(project)
    every = len(targets) == len(matrix.targets)
    known = matrix.targets if every else ()
    difference = compare(project, rendered, known)
    if every and not project.is_checkout:
        changed = bool(difference.changed or difference.orphans)
        rendered |= tool_record(project, renderer.context, changed=changed)
        difference = compare(project, rendered, known)
    return targets, difference, rendered
