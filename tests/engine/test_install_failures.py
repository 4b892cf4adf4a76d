# SPDX-License-Identifier: Apache-2.0
"""A package of CANN that is not installed as it should be stops the build at its layer."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.package_index import PackageIndex
from cannery.engine.simulator import simulate
from cannery.matrix.project import Project

from .conftest import MAIN
from .stages import Stages

PROGRAM = "python3 /tmp/install-cann"
FULL = f"--mount=type=tmpfs,target=/usr/local/Ascend,size=2097152 \\\n    {PROGRAM} toolkit"
TOOLKIT = "toolkit 8.0.T39 is not installed by Ascend-cann-toolkit_8.0.T39_linux-aarch64.run:"

BAD = {
    "full disk": (
        "layer-toolkit",
        {"Dockerfile": (f"{PROGRAM} toolkit", FULL)},
        (TOOLKIT, "its installer ended with exit code"),
    ),
    "no pip": (
        "layer-toolkit",
        {"Dockerfile": (" python3-pip isal", " isal")},
        (TOOLKIT, "/var/log/ascend_seclog/", "[ERROR]"),
    ),
    "another layout": (
        "layer-toolkit",
        {"Dockerfile": ("--layout ascend-toolkit", "--layout cann")},
        (
            TOOLKIT,
            "there is no /usr/local/Ascend/cann-8.0.T39; it is in /usr/local/Ascend/",
            "matrix.yaml says: release 8.0.T39, layout cann.",
        ),
    ),
    "another release": (
        "layer-toolkit",
        {"Dockerfile": ("--release 8.0.T39 --toolkit", "--release 8.0.RC3 --toolkit")},
        ("has version 8.0.T39, not 8.0.RC3.", "runtime/version.info is of 8.0.T39, not of 8.0.RC3"),
    ),
    "kernels of another chip": (
        "layer-kernels",
        {"Dockerfile": ("--operators ascend910b", "--operators ascend310p")},
        ("kernels 8.0.T39 is not installed by", "no kernels in"),
    ),
    "other variables": (
        "layer-nnal",
        {"nnal.env": ("ATB_MATMUL_SHUFFLE_K_ENABLE=1\n", "ATB_NEW=1\n")},
        (
            "nnal 8.0.T39 is not installed by Ascend-cann-nnal_8.0.T39_linux-aarch64.run:",
            "set_env.sh gives ATB_MATMUL_SHUFFLE_K_ENABLE '1', and ENV would have no value.",
            "set_env.sh gives ATB_NEW no value, and ENV would have '1'.",
            "cannery/image/cann_environment.json",
        ),
    ),
}


@pytest.fixture(scope="module")
def stages(
    project: Project, packages: PackageIndex, tmp_path_factory: pytest.TempPathFactory
) -> Stages:
    target = project.matrix().targets[MAIN]
    return Stages(
        project=project,
        target=target,
        packages=packages,
        artifacts=simulate(project, target, packages, project.artifacts).artifacts,
        folder=tmp_path_factory.mktemp("stages") / "files",
    )


@pytest.mark.parametrize("case", [*BAD])
def test_the_build_stops_and_says_why(stages: Stages, tmp_path: Path, case: str) -> None:
    stage, edits, said = BAD[case]
    stages.write(edits)
    output = tmp_path / "output"
    done = stages.build(stage, "--output", f"type=local,dest={output}")
    assert done.returncode != 0
    assert not [each for each in said if each not in done.stderr], done.stderr[-4000:]
    assert f"[{stage} 1/1]" in done.stderr
    assert not output.exists()
