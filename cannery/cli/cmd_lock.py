# SPDX-License-Identifier: Apache-2.0
"""``build.py lock``: pin the wheels of targets."""

from __future__ import annotations

from dataclasses import dataclass

from cannery.cli.command import Command
from cannery.cli.common import selected
from cannery.common import console
from cannery.common.errors import counted, raise_all
from cannery.common.option import option
from cannery.lock.index_versions import check_upgrades
from cannery.lock.resolve import write_locks
from cannery.matrix.project import Project
from cannery.options import IndexOptions, TargetOptions


@dataclass(frozen=True, kw_only=True)
class LockOptions(IndexOptions, TargetOptions):
    """The pinned packages that may move."""

    upgrade: tuple[str, ...] = option(
        "move this package to its newest version that fits", default=(), metavar="PACKAGE"
    )


COMMAND = Command(
    description="Resolves the Python packages of each target and pins them in "
    "images/ID/requirements.lock, with the name and the hash of one file of each, and what "
    "builds wheels from sdists in build-requirements.lock beside it. Pinned packages keep "
    "their versions unless matrix.yaml or --upgrade asks for others. Needs the package index. "
    "Run 'build.py render' after it.",
    reads="matrix.yaml, compat.yaml, the locks, and the package index",
    writes="the locks in images/ID/, and cannery/image/context/requirements.txt",
    example="lock --target 'py39-*' --upgrade numpy",
    options=LockOptions,
)


def run(options: LockOptions, project: Project) -> None:
    """Lock the selected targets and say which locks changed."""
    targets = selected(options, project)
    check_upgrades(project, targets, options.upgrade)
    done = write_locks(project, targets, options.upgrade, options.index)
    for path in done.changed:
        console.say(f"wrote {path.relative_to(project.root)}")
    locked = counted(len(targets), "target")
    if done.failures:
        locked = f"{len(targets) - len(done.failures)} of {locked}"
    changed = counted(len(done.changed), "lock")
    console.say(f"{locked} locked, {changed} changed", "" if done.failures else "ok")
    if done.changed:
        console.say("now run: python build.py sync, which renders images/ and the table of images")
    raise_all(done.failures, single=len(targets) == 1)
