# SPDX-License-Identifier: Apache-2.0
"""The sdist that a wheel is built from, in its stage of a Dockerfile and from the package index."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.package_index import PackageIndex
from cannery.lock.lock_file import read_lock
from cannery.matrix.project import Project

from .stages import Stages

TARGET = "py311-torch290-cann851-vllm0180-910b"


@pytest.fixture
def stages(project: Project, packages: PackageIndex, tmp_path: Path) -> Stages:
    (tmp_path / "artifacts").mkdir()
    return Stages(
        project=project,
        target=project.matrix().targets[TARGET],
        packages=packages,
        artifacts=tmp_path / "artifacts",
        folder=tmp_path / "files",
    )


def test_the_locked_sdist_is_downloaded(stages: Stages, project: Project, tmp_path: Path) -> None:
    stages.write(after="\nFROM scratch AS only-sdist\nCOPY --from=built-vllm-sdist /sdist /\n")
    output = tmp_path / "output"
    done = stages.build("only-sdist", "--output", f"type=local,dest={output}")
    assert done.returncode == 0, done.stderr[-4000:]
    [file] = read_lock(project, stages.target).by_name["vllm"].files
    assert [path.name for path in output.iterdir()] == [file.name]
