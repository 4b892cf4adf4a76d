# SPDX-License-Identifier: Apache-2.0
"""A stalled download is noticed, and a slow installation is none; the sample is taken again."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from bench import stalls
from bench.engine import Engine
from bench.session import REPEATS, Session
from bench.stalls import SECONDS, Judge, Sight
from bench.timing import Timed
from cannery.common.package_index import PackageIndex
from cannery.matrix.project import Project

GATEWAY = "10.208.0.1"


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
def test_only_slow_downloads_are_stalls(
    steps: list[tuple[int, float, bool]], stalled: bool
) -> None:
    assert bool(followed(*steps)) is stalled


def test_the_longest_stall_is_reported() -> None:
    steps = [DOWNLOADS, *[WAITS] * 12, DOWNLOADS, *[WAITS] * 30, DOWNLOADS]
    assert followed(*steps) == 30


def process(proc: Path, pid: str, space: str, gateway: str, *, ticks: int = 0) -> None:
    """A process as /proc shows it, with a connection to elsewhere and one to itself."""
    folder = proc / pid
    (folder / "ns").mkdir(parents=True)
    (folder / "net").mkdir()
    (folder / "ns" / "net").symlink_to(f"net:[{space}]")
    [number] = struct.unpack("=I", IPv4Address(gateway).packed)
    route = f"Iface Destination Gateway\neth0 00000000 {number:08X} 0003\n"
    dev = "Inter-|   Receive\n face |bytes\n    lo: 999 1\n  eth0: 1234 5 0\n"
    tcp = "  sl  local_address rem_address   st\n"
    tcp += "   0: 0100007F:1F90 0100007F:D431 01 0\n   1: 0200D00A:D431 22D8B85D:01BB 01 0\n"
    texts = {"route": route, "dev": dev, "tcp": tcp, "tcp6": "  sl\n"}
    for name, text in texts.items():
        (folder / "net" / name).write_text(text, encoding="utf-8")
    words = ["S", *["0"] * 10, str(ticks), "0", *["0"] * 30]
    (folder / "stat").write_text(f"{pid} (a (b) c) {' '.join(words)}\n", encoding="utf-8")


def test_only_containers_of_the_bench_are_looked_at(tmp_path: Path) -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    process(tmp_path, "self", "1", GATEWAY)
    process(tmp_path, "10", "1", GATEWAY)
    process(tmp_path, "11", "2", GATEWAY, ticks=ticks)
    process(tmp_path, "12", "2", GATEWAY, ticks=2 * ticks)
    process(tmp_path, "13", "3", "172.17.0.1")
    (tmp_path / "uptime").touch()
    [(name, sight)] = stalls.seen(GATEWAY, tmp_path).items()
    assert name == "net:[2]"
    assert (sight.received, sight.computed, sight.connected) == (1234, 3.0, True)


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
def test_a_stalled_sample_is_repeated_and_counted(
    building: Session, stalled: Sequence[float], kept: float, repeated: int, left: int
) -> None:
    assert REPEATS == 2
    assert building.without_stall(builds(*stalled)).seconds == kept
    assert (building.repeated, building.stalled) == (repeated, left)
