# SPDX-License-Identifier: Apache-2.0
"""``build.py lock``: pin the wheels of targets."""

from __future__ import annotations

from cannery import console
from cannery.cli.common import read, selected
from cannery.errors import counted
from cannery.execute.lock import write_locks
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.matrix import LockOptions


def run(given: Given, project: Project) -> int:
    """Lock the selected targets and say which locks changed.

    Raises:
        MatrixError, FileError: as ``write_locks``.
    """
    options = read(LockOptions, given, project)
    targets = selected(options, project)
    changed = write_locks(project, targets, options.upgrade)
    for path in changed:
        console.say(f"wrote {path.relative_to(project.root)}")
    console.say(
        f"{counted(len(targets), 'target')} locked, {counted(len(changed), 'lock')} changed"
    )
    if changed:
        console.say("now run: python build.py render")
    return 0
