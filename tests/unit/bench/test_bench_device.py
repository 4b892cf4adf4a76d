# SPDX-License-Identifier: Apache-2.0
"""Figure (d): the step that compiles the software device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import figures_device
from bench.engine import Engine
from bench.figures_build import Plan
from bench.session import Session
from cannery.common.errors import EngineError
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.matrix.project import Project

PROJECT = Project(root=Path(__file__).resolve().parents[3])
MAIN = PROJECT.matrix().targets["py39-torch231-cann8t39"]
LOG = """\
#8 [toolchain 2/2] RUN apt-get update && apt-get install --yes python3
#8 DONE 9.0s
#10 [device 3/3] RUN sh /simulator/device/build.sh /device "aarch64"
#10 {end}
"""


class _Session(Session):
    """Counts how often the engine is emptied."""

    cooled = 0

    def prepare(self, targets: Sequence[Target]) -> None:
        assert [*targets] == [MAIN]

    def cool(self) -> None:
        self.cooled += 1


def session_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: Sequence[str]) -> _Session:
    """A session in which the step of each build ends as ``ends`` say."""
    project = Project(root=tmp_path)
    left = iter(ends)

    def build(_project: object, _target: object, _spec: object, _source: object, to: Path) -> None:
        assert not to.exists() and to.parent.is_dir()
        log = project.state / "logs" / "simulator.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(LOG.format(end=next(left)), encoding="utf-8")

    monkeypatch.setattr(figures_device, "build_packages", build)
    engine = Engine(host="", outer={})
    source = PackageIndex(ca=None, index_url="")
    return _Session(project=project, engine=engine, source=source, folder=tmp_path, logs=tmp_path)


def plan(runs: int) -> Plan:
    return Plan(main=MAIN, all=(), runs=runs, slow_runs=1)


def test_the_seconds_are_those_of_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_of(tmp_path, monkeypatch, ["DONE 21.5s", "DONE 20.0s"])
    [figure] = figures_device.compiled(session, plan(2))
    assert (figure.key, figure.unit, figure.ours.samples) == ("device", "s", (21.5, 20.0))
    assert "aarch64" in figure.title
    assert session.cooled == 2, "each sample needs an empty engine"


def test_a_step_from_the_cache_is_no_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of(tmp_path, monkeypatch, ["CACHED"])
    with pytest.raises(EngineError, match="no step that has compiled the device"):
        figures_device.compiled(session, plan(1))
