# SPDX-License-Identifier: Apache-2.0
"""``build.py update --snapshot``: a later snapshot for the bases that have one."""

from __future__ import annotations

from collections.abc import Iterable

from cannery.common import console
from cannery.common.bases import Base
from cannery.common.errors import MatrixError, Problem, UsageError
from cannery.common.model import Target
from cannery.matrix.base_digests import with_bases
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_files


def move_snapshots(
    project: Project, targets: Iterable[Target], snapshot: str, *, write: bool
) -> None:
    """Print the bases of ``targets`` with another snapshot; with ``write`` give them this one.

    Raises:
        UsageError: no base of ``targets`` has a snapshot.
        MatrixError: matrix.yaml is wrong, or cannot be changed by program.
        FileError: a file cannot be read or written; then none has changed.
    """
    matrix = project.matrix()
    dated = {each.base.name: each.base for each in targets if each.base.snapshot}
    if not dated:
        fix = "Write 'snapshot' in place of 'image' there; see docs/security.md."
        raise UsageError(Problem(what="no base of these targets has a snapshot.", fix=fix))
    old = {name: base for name, base in dated.items() if base.snapshot != snapshot}
    for name, base in old.items():
        print(f"{name}: {base.snapshot} -> {snapshot}")
    if not old:
        console.say(f"these bases have the snapshot {snapshot}")
    elif not write:
        console.say("nothing was written; add --write to put it into matrix.yaml")
    else:
        before = project.files()
        after = with_bases(before, "snapshot", dict.fromkeys(old, snapshot))
        if _bases(parse_files(after)) != _moved(_bases(matrix), old, snapshot):
            what = "matrix.yaml cannot be changed by program: more would change than the snapshots."
            raise MatrixError(Problem(what=what, fix="Write the snapshots there, listed above."))
        project.replace_named(after, before)
        console.say("now run: python build.py render")


def _bases(matrix: Matrix) -> dict[str, tuple[str, str]]:
    """Target to the images of its bases, which name their snapshots."""
    targets = matrix.targets.items()
    return {name: (each.base.image, each.build_base.image) for name, each in targets}


def _moved(
    images: dict[str, tuple[str, str]], old: dict[str, Base], snapshot: str
) -> dict[str, tuple[str, str]]:
    new = {base.image: base.image.removesuffix(base.snapshot) + snapshot for base in old.values()}
    return {name: (new.get(one, one), new.get(two, two)) for name, (one, two) in images.items()}
