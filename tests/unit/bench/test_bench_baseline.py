# SPDX-License-Identifier: Apache-2.0
"""The baseline has our contents, and none of our ways."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench import baseline
from cannery.common.errors import UsageError
from cannery.common.model import Target
from cannery.lock.lock_file import parse_lock
from cannery.matrix.project import Project

PROJECT = Project(root=Path(__file__).resolve().parents[3])
TARGETS = PROJECT.matrix().targets
MAIN = TARGETS["py39-torch231-cann8t39"]


def lock_of(target: Target) -> str:
    return PROJECT.lock(target).read_text(encoding="utf-8")


@pytest.mark.parametrize("target", [t for t in TARGETS.values() if t.torch], ids=lambda t: t.id)
def test_every_locked_wheel_and_every_file_is_installed_once(target: Target) -> None:
    texts = baseline.files(target, lock_of(target))
    dockerfile = texts.pop("Dockerfile")
    installed = re.findall(r"^([\w.-]+)==(\S+)", "\n".join(texts.values()), re.MULTILINE)
    locked = {(wheel.name, wheel.version) for wheel in parse_lock(lock_of(target)).wheels}
    pip = {each for each in locked if each[0] == "pip"}
    assert len(installed) == len(set(installed))
    assert {*installed} == locked - pip
    assert not [file.name for file in target.artifacts.values() if file.name not in dockerfile]


def test_it_is_one_stage_without_caches() -> None:
    dockerfile = baseline.files(MAIN, lock_of(MAIN))["Dockerfile"]
    assert len(re.findall(r"^FROM ", dockerfile, re.MULTILINE)) == 1
    assert "type=cache" not in dockerfile
    assert "--link" not in dockerfile


def test_it_has_the_debian_packages_of_ours() -> None:
    ours = (PROJECT.images / MAIN.id / "Dockerfile").read_text(encoding="utf-8")
    theirs = [*baseline.PACKAGES, *baseline.PYTHON_PACKAGES]
    theirs.remove("python3-pip")
    assert not [name for name in theirs if not re.search(rf"\s{re.escape(name)}[\s;]", ours)]


def test_a_target_without_torch_has_no_baseline() -> None:
    target = next(target for target in TARGETS.values() if not target.torch)
    with pytest.raises(UsageError, match="has no torch"):
        baseline.files(target, lock_of(target))


def test_a_context_has_every_file_copied_by_its_dockerfile(tmp_path: Path) -> None:
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    for file in MAIN.artifacts.values():
        (artifacts / file.name).write_text("x", encoding="utf-8")
    for _ in range(2):
        baseline.write(tmp_path / "context", MAIN, lock_of(MAIN), artifacts)
    dockerfile = (tmp_path / "context" / "Dockerfile").read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (.+) \S+$", dockerfile, re.MULTILINE):
        assert all((tmp_path / "context" / name).is_file() for name in line.split())
