# SPDX-License-Identifier: Apache-2.0
"""A catalogue to open: a copy of the checkout in which one image is published, and its page."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cannery.common.model import Target
from cannery.matrix.project import Project
from cannery.publish.policy import load
from cannery.registry.records import Record
from tests.cli.checkout import Checkout
from tests.cli.conftest import use_some_targets
from tests.unit.publications import keep

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = "py39-torch231-cann8t39"
TRIAL = '{title: "910b, 1 card", url: "https://train.example.com/trials/7"}'


@dataclass(frozen=True, kw_only=True)
class Site:
    """``index`` is the page, ``project`` the copy that it was made from."""

    project: Project
    index: Path

    @property
    def url(self) -> str:
        return self.index.as_uri()

    @property
    def targets(self) -> dict[str, Target]:
        return dict(self.project.matrix().targets)

    @property
    def repository(self) -> str:
        matrix = self.project.matrix()
        return load(self.project.root / "publish.yaml", matrix).repository


def make_site(folder: Path, release: Callable[[Target], Record], *, whole: bool = False) -> Site:
    """A page on which ``PUBLISHED`` has the release that ``release`` makes of it.

    It has some of the targets, or the ``whole`` matrix.
    """
    root = folder / "checkout"
    root.mkdir()
    for name in ("cannery", "images", "packages/ascend-sim"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, root / name, ignore=ignore)
    for name in ("build.py", "matrix.yaml", "compat.yaml", "publish.yaml", "docs/targets.md"):
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy2(ROOT / name, root / name)
    if (ROOT / ".cannery" / "simulator").is_dir():
        (root / ".cannery").mkdir()
        (root / ".cannery" / "simulator").symlink_to(ROOT / ".cannery" / "simulator")
    if not whole:
        use_some_targets(root)
    checkout = Checkout(root=root)
    checkout.edit("trials: {}", f"trials: {{{PUBLISHED}: {TRIAL}}}", "publish.yaml")
    project = Project(root=root)
    record = release(project.matrix().targets[PUBLISHED])
    keep(root / "releases", record)
    checkout.run("catalog", "--out", str(folder / "site")).accepted()
    return Site(project=project, index=folder / "site" / "index.html")
