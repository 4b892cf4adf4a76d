# SPDX-License-Identifier: Apache-2.0
"""``build.py lock``: pin the wheels of targets."""

from __future__ import annotations

from cannery import console
from cannery.cli.common import PROJECT, read, selected
from cannery.execute.lock import write_locks
from cannery.options.given import Given
from cannery.options.matrix import LockOptions


def run(given: Given) -> int:
    """Lock the selected targets and say which locks changed.

    Raises:
        MatrixError, FileError: as ``write_locks``.
    """
    options = read(LockOptions, given)
    targets = selected(options)
    changed = write_locks(PROJECT, targets, options.upgrade)
    for path in changed:
        console.say(f"wrote {path.relative_to(PROJECT.root)}")
    console.say(f"{len(targets)} targets locked, {len(changed)} locks changed")
    if changed:
        console.say("now run: python build.py render")
    return 0
