# SPDX-License-Identifier: Apache-2.0
"""``build.py lock``: pin the wheels of targets."""

from __future__ import annotations

from cannery.cli.common import existing, read, selected
from cannery.common import console
from cannery.common.errors import counted, raise_all
from cannery.common.package_index import package_index
from cannery.lock.resolve import write_locks
from cannery.lock.upgrades import check_upgrades
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.matrix import LockOptions


def run(given: Given, project: Project) -> int:
    """Lock the selected targets and say which locks changed.

    Raises:
        UsageError: a target, a package or the file of certificates does not exist.
        CanneryError: one or more targets cannot be locked; or as ``write_locks``.
    """
    options = read(LockOptions, given, project)
    source = package_index(existing(options.ca), options.index_url)
    targets = selected(options, project)
    check_upgrades(project, targets, options.upgrade)
    done = write_locks(project, targets, options.upgrade, source)
    for path in done.changed:
        console.say(f"wrote {path.relative_to(project.root)}")
    locked = counted(len(targets), "target")
    if done.failures:
        locked = f"{len(targets) - len(done.failures)} of {locked}"
    console.say(
        f"{locked} locked, {counted(len(done.changed), 'lock')} changed",
        "" if done.failures else "ok",
    )
    if done.changed:
        console.say("now run: python build.py render")
    raise_all(done.failures, single=len(targets) == 1)
    return 0
