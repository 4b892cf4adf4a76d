# SPDX-License-Identifier: Apache-2.0
"""A package of CANN that is not installed as it should be stops the build at its layer."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.package_index import PackageIndex
from cannery.engine.simulator import build_packages, simulate
from cannery.image.simulator_spec import package_spec
from cannery.matrix.project import Project

from .conftest import MAIN
from .stages import Stages

pytestmark = pytest.mark.ci(
    "under load buildx ends failed builds with other words, which were taken for a broken engine"
)

NEWER = "py311-torch290-cann910-910b"
PROGRAM = "install-cann"
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
        {"Dockerfile": (" python3-pip\n", "\n")},
        (TOOLKIT, "/var/log/ascend_seclog/", "[ERROR]"),
    ),
    "another layout": (
        "layer-toolkit",
        {"target.json": ("Ascend/ascend-toolkit/latest", "Ascend/cann-8.0.T39")},
        (
            TOOLKIT,
            "there is no /usr/local/Ascend/cann-8.0.T39; it is in /usr/local/Ascend/",
            "matrix.yaml says: release 8.0.T39, layout cann.",
        ),
    ),
    "another release": (
        "layer-toolkit",
        {"target.json": ('"toolkit": "8.0.T39"', '"toolkit": "8.0.RC3"')},
        ("there is no /usr/local/Ascend/ascend-toolkit/8.0.RC3; it is in /usr/local/Ascend/",),
    ),
    "kernels of another chip": (
        "layer-kernels",
        {"target.json": ('"operators": "ascend910b"', '"operators": "ascend310p"')},
        ("kernels 8.0.T39 is not installed by", "no kernels in"),
    ),
    "other variables": (
        "layer-nnal",
        {"Dockerfile": ("ATB_MATMUL_SHUFFLE_K_ENABLE=1 ", "ATB_NEW=1 ")},
        (
            "nnal 8.0.T39 is not installed by Ascend-cann-nnal_8.0.T39_linux-aarch64.run:",
            "set_env.sh gives ATB_MATMUL_SHUFFLE_K_ENABLE '1', and ENV would have no value.",
            "set_env.sh gives ATB_NEW no value, and ENV would have '1'.",
            "cannery/image/cann_environment.json",
        ),
    ),
}


SPOILT = {
    "a part fails, and the whole ends with 0": (
        *(MAIN, "toolkit", {"fails": "softly"}),
        (TOOLKIT, "/var/log/ascend_seclog/", "[ERROR]", "the last "),
    ),
    "half of it": (
        *(MAIN, "toolkit", {"fails": "hard"}),
        (TOOLKIT, "its installer ended with exit code 1"),
    ),
    "half of NNAL": (
        *(MAIN, "nnal", {"fails": "softly"}),
        ("nnal 8.0.T39 is not installed by", "/var/log/cann_atb_log/", "[ERROR]"),
    ),
    "a part is missing": (
        *(MAIN, "toolkit", {"without": ["compiler"]}),
        (TOOLKIT, "there is no /usr/local/Ascend/ascend-toolkit/8.0.T39/compiler/version.info."),
    ),
    "the compiler of triton-ascend is missing": (
        *(NEWER, "toolkit", {"without": ["bisheng"]}),
        ("there is no /usr/local/Ascend/cann-9.1.0/tools/bishengir/bin/bishengir-compile.",),
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


@pytest.mark.parametrize("case", [*SPOILT])
def test_incomplete_packages_fail_the_build(
    project: Project, packages: PackageIndex, tmp_path: Path, case: str
) -> None:
    name, component, more, said = SPOILT[case]
    target = project.matrix().targets[name]
    spec = package_spec(target)
    [entry] = [each for each in spec["packages"] if each["component"] == component]
    entry |= more
    build_packages(project, target, spec, packages, tmp_path / "made")
    stages = Stages(
        project=project,
        target=target,
        packages=packages,
        artifacts=tmp_path / "made" / "artifacts",
        folder=tmp_path / "files",
    )
    stages.write()
    done = stages.build(f"layer-{component}", "--output", f"type=local,dest={tmp_path / 'output'}")
    assert done.returncode != 0
    assert not [each for each in said if each not in done.stderr], done.stderr[-4000:]
    assert f"[layer-{component} 1/1]" in done.stderr
    assert not (tmp_path / "output").exists()
