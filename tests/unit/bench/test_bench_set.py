# SPDX-License-Identifier: Apache-2.0
"""Figure (e): all targets one after the other, against cold builds of some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from bench.engine import Engine
from bench.figures_build import Plan
from bench.figures_set import SAMPLE, all_targets, spread
from bench.session import Session
from bench.storage import Layer
from bench.timing import Timed
from cannery.common.errors import EngineError
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.matrix.project import Project

PROJECT = Project(root=Path(__file__).resolve().parents[3])
TARGETS = tuple(PROJECT.matrix().targets.values())[: SAMPLE * 2]
WITHOUT_BASE = TARGETS[3]
BUILT = [target for target in TARGETS if target is not WITHOUT_BASE]
GIGABYTE = 10**9


class Usage(NamedTuple):
    free: int


class _Engine(Engine):
    """Remembers what it is told."""

    said: list[str] = []  # noqa: RUF012 # an Engine is frozen

    def remove(self, name: str) -> None:
        self.said.append(f"remove {name}")

    def keep_cache(self, size: int) -> None:
        self.said.append(f"keep {size}")


class _Session(Session):
    """Every cold build takes 10 s and every other one 2 s."""

    def prepare(self, targets: Sequence[Target]) -> None:
        if WITHOUT_BASE in targets:
            raise EngineError("the base is missing.")

    def cool(self) -> None:
        pass

    def ours_cold(self, *targets: Target) -> Timed:
        assert WITHOUT_BASE not in targets
        return Timed(seconds=10.0, lines=(), processor=15.0)

    def ours(self, *targets: Target, root: Path | None = None) -> Timed:
        assert WITHOUT_BASE not in targets
        assert root is None
        return Timed(seconds=2.0, lines=(), processor=3.0)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Session:
    class Connected:
        def info(self) -> dict[str, str]:
            return {"DockerRootDir": str(tmp_path)}

    def layers(name: str) -> list[Layer]:
        return [Layer(diff="os", size=300), Layer(diff="x", size=100)]

    monkeypatch.setattr("bench.figures_set.docker.connect", Connected)
    monkeypatch.setattr("bench.figures_set.storage.layers", layers)
    _Engine.said.clear()
    return _Session(
        project=PROJECT,
        engine=_Engine(host="", outer={}),
        source=PackageIndex(ca=None, index_url=""),
        folder=tmp_path,
        logs=tmp_path,
    )


def plan() -> Plan:
    return Plan(main=TARGETS[0], all=TARGETS, runs=1, slow_runs=1)


def disk(monkeypatch: pytest.MonkeyPatch, *free: int) -> None:
    left = list(free)

    def usage(_: Path) -> Usage:
        return Usage(left.pop(0) if len(left) > 1 else left[0])

    monkeypatch.setattr("bench.figures_set.shutil.disk_usage", usage)


def test_cold_builds_of_some_stand_for_all(
    session: _Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk(monkeypatch, 100 * GIGABYTE)
    time, distinct = all_targets(session, plan())
    count = len(BUILT)
    assert time.title == (
        f"{count} of {len(TARGETS)} targets, one after the other,"
        f" against {count} x the mean of {SAMPLE} cold builds"
    )
    assert time.ours.samples == (2.0 * count,)
    assert time.reference is not None
    assert time.reference.samples == (10.0 * count,)
    assert time.detail["processor_seconds"] == 3 * count
    assert time.detail["processor_seconds_alone"] == 15 * count
    assert distinct.ours.samples == (400,)
    assert distinct.reference is not None
    assert distinct.reference.samples == (400 * count,)
    assert session.engine.said == [f"remove {session.ours_name(target)}" for target in BUILT]  # type: ignore[attr-defined]


def test_a_short_disk_costs_steps_of_the_cache(
    session: _Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk(monkeypatch, 5 * GIGABYTE, 30 * GIGABYTE)
    time = all_targets(session, plan())[0]
    assert time.detail["cache_made_smaller"] == 1
    disk(monkeypatch, 5 * GIGABYTE)
    with pytest.raises(EngineError, match="only 5 GB are free"):
        all_targets(session, plan())


def test_some_targets_can_stand_for_all(session: _Session, monkeypatch: pytest.MonkeyPatch) -> None:
    disk(monkeypatch, 100 * GIGABYTE)
    time = all_targets(session, replace(plan(), count=2))[0]
    assert time.title == (
        f"2 of {len(TARGETS)} targets, one after the other, against the sum of their cold builds"
    )
    assert [*time.detail["seconds"]] == [TARGETS[0].id, TARGETS[SAMPLE].id]


def test_nothing_that_can_be_built_is_said(session: _Session) -> None:
    with pytest.raises(EngineError, match="no target can be built here"):
        all_targets(session, replace(plan(), all=(WITHOUT_BASE,)))


def test_the_sample_is_spread_over_all_targets() -> None:
    assert spread(TARGETS[:5], 2) == [TARGETS[0], TARGETS[2]]
    assert spread(TARGETS[:5], 9) == [*TARGETS[:5]]
