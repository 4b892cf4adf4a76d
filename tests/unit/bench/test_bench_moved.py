# SPDX-License-Identifier: Apache-2.0
"""Figure (c): a rebuild after one library moved, in a copy of the checkout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.engine import Engine
from bench.figures_build import Plan, moved
from bench.moves import NewVersion
from bench.session import Session
from bench.timing import Timed
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.lock.lock_file import LockedFile
from cannery.matrix.project import Project

PROJECT = Project(root=Path(__file__).resolve().parents[3])
MAIN = PROJECT.matrix().targets["py39-torch231-cann8t39"]


class _Session(Session):
    """Builds at once, and leaves its log where ``build.py`` leaves it."""

    def prepare(self, targets: Sequence[Target]) -> None:
        pass

    def baseline_warm(self, target: Target) -> None:
        pass

    def ours_warm(self, *targets: Target) -> None:
        pass

    def require_version(self, target: Target, image: str, package: str, version: str) -> None:
        assert image in (self.ours_name(target), self.baseline_name(target))
        lock = (self.folder / "given").read_text(encoding="utf-8")
        assert f"{package}=={version}" in lock

    def ours(self, *targets: Target, root: Path | None = None) -> Timed:
        assert targets == (MAIN,)
        assert root
        project = Project(root=root)
        lock = project.lock(MAIN).read_text(encoding="utf-8")
        (self.folder / "given").write_text(lock, encoding="utf-8")
        log = project.state / "logs" / "main.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("guard 1/1 RUN: done (1.5 s)\n", encoding="utf-8")
        return Timed(seconds=2.0, lines=(), logs=(log,))

    def baseline(self, target: Target, lock: str = "") -> Timed:
        assert target is MAIN
        (self.folder / "given").write_text(lock, encoding="utf-8")
        return Timed(seconds=20.0, lines=("#3 [stage-0 1/1] RUN pip", "#3 DONE 19.5s"))


def test_steps_are_read_before_the_copy_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def earlier(lock: str, name: str, python: str, count: int, folder: Path) -> list[NewVersion]:
        file = LockedFile(name=f"{name}-1-py3-none-any.whl", sha256="0" * 64)
        return [NewVersion(name=name, version=f"1.{each}", file=file) for each in range(count)]

    def copied(project: Project, root: Path) -> Project:
        copy = Project(root=root)
        copy.lock(MAIN).parent.mkdir(parents=True)
        return copy

    monkeypatch.setattr("bench.figures_build.moves.earlier", earlier)
    monkeypatch.setattr("bench.figures_build.checkout.copied", copied)
    monkeypatch.setattr("bench.figures_build.checkout.render", lambda *_: None)
    source = PackageIndex(ca=None, index_url="")
    engine = Engine(host="", outer={})
    session = _Session(
        project=PROJECT, engine=engine, source=source, folder=tmp_path, logs=tmp_path
    )
    [figure] = moved(session, Plan(main=MAIN, all=(MAIN,), runs=2, slow_runs=1))
    assert figure.ours.samples == (2.0, 2.0)
    assert figure.reference is not None
    assert figure.reference.samples == (20.0,)
    assert figure.detail["moved"] == "tqdm to 1.0, 1.1"
    assert figure.detail["steps"] == {"guard 1/1 RUN": 1.5}
    assert figure.detail["baseline_steps"] == {"[stage-0 1/1] RUN pip": 19.5}
    assert not [*tmp_path.glob("moves-*")]


class _Built(Session):
    """Remembers which checkouts it has built from."""

    roots: list[Path] = []  # noqa: RUF012 # a test has one

    def _timed(self, argv: Sequence[str], log: str) -> Timed:
        assert log == f"ours-{MAIN.id}"
        self.roots.append(Path(argv[1]).parent)
        return Timed(seconds=1.0, lines=())


def test_another_checkout_s_image_is_not_taken_for_this_one_s(tmp_path: Path) -> None:
    """The image tests would test an image with the library that figure (c) has moved."""
    project, other = Project(root=tmp_path / "this"), tmp_path / "other"
    source, engine = PackageIndex(ca=None, index_url=""), Engine(host="", outer={})
    session = _Built(project=project, engine=engine, source=source, folder=tmp_path, logs=tmp_path)
    session.ours_warm(MAIN)
    session.ours_warm(MAIN)
    assert session.roots == [project.root]
    session.ours(MAIN, root=other)
    session.ours_warm(MAIN)
    assert session.roots == [project.root, other, project.root]
