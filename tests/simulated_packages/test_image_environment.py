# SPDX-License-Identifier: Apache-2.0
"""The ENV of an image is what the packages' own set_env.sh files set, in both layouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.cann import Layout
from cannery.common.model import Target
from cannery.image.environment import (
    ASCEND,
    DRIVER_LIBRARIES,
    GUARD,
    SYSTEM_PATH,
    image_environment,
)
from cannery.matrix.project import Project

from .conftest import Machine, Packed
from .test_environment import source

TARGETS = Project(root=Path(__file__).resolve().parents[2]).matrix().targets
OF_THE_SHELL = {"HOME"}


def target_like(packed: Packed, torch: str, *, with_nnal: bool) -> Target:
    """A target of the matrix's, with what was packed in place of its CANN."""
    layout = Layout(packed.spec["layout"])
    first = next(each for each in TARGETS.values() if each.cann.layout is layout)
    platform = {"aarch64": "linux/arm64", "x86_64": "linux/amd64"}[packed.spec["arch"]]
    release = replace(first.cann, version=packed.spec["cann"])
    first = replace(first, cann=release, nnal_release=None, with_nnal=with_nnal)
    return replace(first, platform=platform, torch=torch)


def without_driver(environment: dict[str, str]) -> dict[str, str]:
    """Less what is the host's: the driver's libraries, and what stands in where there are none."""
    found = dict(environment)
    libraries = found["LD_LIBRARY_PATH"].split(":")
    kept = [f for f in libraries if f not in DRIVER_LIBRARIES and not f.endswith("/devlib")]
    return found | {"LD_LIBRARY_PATH": ":".join(kept)}


def sourced(machine: Machine, *, nnal: str) -> dict[str, str]:
    """What a shell has after the scripts, as if they were where an image has them."""
    # ENV has one folder for the logs of every user.
    lists = {"PATH": ":".join(SYSTEM_PATH), "PYTHONPATH": GUARD}
    start = {**lists, "LD_LIBRARY_PATH": DRIVER_LIBRARIES[0], "HOME": "/tmp"}
    environment = source(machine.ascend / "ascend-toolkit/set_env.sh", start=start)
    home = Path(environment["ASCEND_HOME_PATH"])
    compiler = home / "share/info/ascendnpu-ir/bin/set_env.sh"
    if compiler.is_file():
        environment = source(compiler, start=environment)
    if nnal:
        environment = source(machine.ascend / "nnal/atb/set_env.sh", nnal, environment)
    return {
        name: value.replace(str(machine.ascend), ASCEND)
        for name, value in environment.items()
        if name not in OF_THE_SHELL
    }


@pytest.mark.parametrize("release", ["t39", "rc1", "rc2", "rc3", "cann85", "cann91"])
@pytest.mark.parametrize(("torch", "abi"), [("", ""), ("2.1.0", "0"), ("2.7.1", "1")])
def test_the_environment_is_what_the_scripts_set(
    request: pytest.FixtureRequest,
    installed: Callable[[str], Machine],
    release: str,
    torch: str,
    abi: str,
) -> None:
    target = target_like(request.getfixturevalue(release), torch, with_nnal=bool(abi))
    expected = {name: value.strip('"') for name, value in image_environment(target).items()}
    found = sourced(installed(release), nnal=f"--cxx_abi={abi}" if abi else "")
    assert without_driver(found) == without_driver(expected)
    assert expected["LD_LIBRARY_PATH"].endswith(":".join(DRIVER_LIBRARIES))
    assert "devlib" not in str(expected)


@pytest.mark.parametrize("release", ["t39", "cann85", "cann91"])
def test_every_folder_of_the_toolkit_is_there(
    request: pytest.FixtureRequest, installed: Callable[[str], Machine], release: str
) -> None:
    """NNAL's set_env.sh, and so ENV, names some that are not."""
    env = image_environment(target_like(request.getfixturevalue(release), "2.1.0", with_nnal=False))
    folders = {folder for value in env.values() for folder in value.split(":")}
    below = {f for f in folders if f.startswith(f"{ASCEND}/") and f not in DRIVER_LIBRARIES}
    there = str(installed(release).ascend)
    assert below
    assert not [f for f in below if not Path(f.replace(ASCEND, there)).is_dir()]
