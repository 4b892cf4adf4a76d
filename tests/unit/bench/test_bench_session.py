# SPDX-License-Identifier: Apache-2.0
"""The builds of the bench have the build contexts that the Dockerfiles need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import session
from bench.engine import Engine
from bench.session import Session
from bench.timing import Timed
from cannery.common.package_index import PackageIndex
from cannery.engine.simulator import Simulated
from cannery.matrix.project import Project

PROJECT = Project(root=Path(__file__).resolve().parents[3])
MAIN = PROJECT.matrix().targets["py39-torch231-cann8t39"]


def test_a_plain_build_has_the_contexts_that_the_dockerfile_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    for file in MAIN.artifacts.values():
        (artifacts / file.name).write_text("x", encoding="utf-8")
    commands: list[Sequence[str]] = []

    def timed(argv: Sequence[str], _log: Path) -> Timed:
        commands.append(argv)
        return Timed(seconds=1.0, lines=())

    monkeypatch.setattr(session, "timed", timed)
    bases = (MAIN.base, MAIN.build_base)
    pairs = [(base.name, arch) for base in bases for arch in ("arm64", "amd64")]
    one = Session(
        project=PROJECT,
        engine=Engine(host="", outer={}),
        source=PackageIndex(ca=None, index_url=""),
        folder=tmp_path,
        logs=tmp_path,
        bases={f"{name}-{arch}": "base" for name, arch in pairs},
        made={MAIN.id: Simulated(artifacts=artifacts, host=tmp_path)},
    )
    one.bare(MAIN)
    dockerfile = (PROJECT.images / MAIN.id / "Dockerfile").read_text(encoding="utf-8")
    needed = set(re.findall(r"^FROM scratch AS (\w+)$", dockerfile, re.MULTILINE))
    assert needed == {"artifacts", "cannery"}
    [argv] = commands
    contexts = [argv[i + 1] for i, word in enumerate(argv) if word == "--build-context"]
    assert {context.partition("=")[0] for context in contexts} == needed
    assert all(Path(context.partition("=")[2]).is_dir() for context in contexts)
