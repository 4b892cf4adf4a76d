# SPDX-License-Identifier: Apache-2.0
"""A stalled download is noticed, and a slow installation is none; the sample is taken again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bench.engine import Engine
from bench.session import REPEATS, Session
from bench.stalls import SECONDS, Judge, Sight
from bench.timing import Timed
from cannery.common.package_index import PackageIndex
from cannery.matrix.project import Project


def followed(*steps: tuple[int, float, bool]) -> float:
    """The longest stall of a container, from what it did in each second."""
    judge = Judge()
    received, computed = 0, 0.0
    for second, (new, busy, connected) in enumerate(steps):
        received, computed = received + new, computed + busy
        sight = Sight(at=second, received=received, computed=computed, connected=connected)
        judge.see({"one": sight})
    return judge.longest


DOWNLOADS = (5_000_000, 0.2, True)
WAITS = (0, 0.0, True)
DRIPS = (500, 0.01, True)
INSTALLS = (0, 0.9, True)
SLEEPS = (0, 0.0, False)
LONG = round(SECONDS) + 5


@pytest.mark.parametrize(
    ("steps", "stalled"),
    [
        ([DOWNLOADS] * LONG, False),
        ([DOWNLOADS, *[WAITS] * LONG, DOWNLOADS], True),
        ([*[WAITS] * LONG], True),
        ([DOWNLOADS, *[DRIPS] * LONG, DOWNLOADS], True),
        ([DOWNLOADS, *[WAITS] * 8, DOWNLOADS, *[WAITS] * 8, DOWNLOADS], False),
        # A connection that is kept open meanwhile.
        ([DOWNLOADS, *[INSTALLS] * LONG], False),
        ([DOWNLOADS, *[SLEEPS] * LONG], False),
    ],
)
def test_stalls_of_a_container(steps: list[tuple[int, float, bool]], stalled: bool) -> None:
    assert bool(followed(*steps)) is stalled


def test_a_process_that_ends_is_no_stall() -> None:
    judge = Judge()
    for second in range(LONG):
        # Each second the process that computed before is gone.
        computed = float(LONG - second)
        sight = Sight(at=second, received=0, computed=computed, connected=True)
        judge.see({"one": sight})
    assert judge.longest == 0


def test_a_container_that_is_gone_and_another_one_are_two() -> None:
    judge = Judge()
    for second in range(2 * LONG):
        name = "one" if second < SECONDS - 2 else f"other {second // 5}"
        judge.see({name: Sight(at=second, received=0, computed=0.0, connected=True)})
    assert judge.longest == 0


@pytest.fixture
def building(tmp_path: Path) -> Session:
    return Session(
        project=Project(root=tmp_path),
        engine=Engine(host="", outer={}),
        source=PackageIndex(ca=None, index_url=""),
        folder=tmp_path,
        logs=tmp_path,
    )


def builds(*stalled: float) -> Callable[[], Timed]:
    """Builds that take 1, 2, ... seconds, in which a download stalls for so many."""
    left = iter([Timed(seconds=n, lines=(), stalled=each) for n, each in enumerate(stalled, 1)])
    return lambda: next(left)


@pytest.mark.parametrize(
    ("stalled", "kept", "repeated", "left"),
    [
        ((0,), 1, 0, 0),
        ((12, 0), 2, 1, 0),
        ((12, 30, 0), 3, 2, 0),
        ((12, 30, 15, 0), 3, 2, 1),
    ],
)
def test_a_sample_is_taken_again_and_that_is_counted(
    building: Session, stalled: Sequence[float], kept: float, repeated: int, left: int
) -> None:
    assert REPEATS == 2
    assert building.without_stall(builds(*stalled)).seconds == kept
    assert (building.repeated, building.stalled) == (repeated, left)
