# SPDX-License-Identifier: Apache-2.0
"""The ENV of an image is what the packages' own set_env.sh files set, in both layouts."""

from __future__ import annotations

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

from .conftest import KERNELS, NNAL, TOOLKIT, Machine, Packed
from .test_environment import source

TARGETS = Project(root=Path(__file__).resolve().parents[2]).matrix().targets
OF_THE_SHELL = {"HOME"}


def target_like(packed: Packed, torch: str, *, with_nnal: bool) -> Target:
    """A target of the matrix's, with what was packed in place of its CANN."""
    layout = Layout(packed.spec["layout"])
    first = next(each for each in TARGETS.values() if each.cann.layout is layout)
    platform = {"aarch64": "linux/arm64", "x86_64": "linux/amd64"}[packed.spec["arch"]]
    release = replace(first.cann, version=packed.spec["cann"])
    return replace(first, platform=platform, cann=release, torch=torch, with_nnal=with_nnal)


def without_driver(environment: dict[str, str]) -> dict[str, str]:
    """Less what is the host's: the driver's libraries, and what stands in where there are none."""
    found = dict(environment)
    libraries = found["LD_LIBRARY_PATH"].split(":")
    kept = [f for f in libraries if f not in DRIVER_LIBRARIES and not f.endswith("/devlib")]
    return found | {"LD_LIBRARY_PATH": ":".join(kept)}


def sourced(machine: Machine, arguments: str) -> dict[str, str]:
    """What a shell has after the scripts, as if they were where an image has them."""
    # ENV has one folder for the logs of every user.
    start = {"PATH": ":".join(SYSTEM_PATH), "PYTHONPATH": GUARD, "HOME": "/tmp"}
    toolkit = machine.ascend / "ascend-toolkit/set_env.sh"
    environment, _ = source("bash", toolkit, start=start)
    if arguments:
        atb = machine.ascend / "nnal/atb/set_env.sh"
        environment, _ = source("bash", atb, arguments, environment)
    return {
        name: value.replace(str(machine.ascend), ASCEND)
        for name, value in environment.items()
        if name not in OF_THE_SHELL
    }


def install(machine: Machine, packed: Packed, *, nnal: bool) -> None:
    for component in (TOOLKIT, KERNELS):
        machine.must_install(packed.file(component))
    if nnal:
        latest = machine.ascend / "ascend-toolkit/latest"
        machine.must_install(packed.file(NNAL), ASCEND_TOOLKIT_HOME=str(latest))


@pytest.mark.parametrize("layout", ["t39", "cann85", "cann91"])
@pytest.mark.parametrize(("torch", "abi"), [("", ""), ("2.1.0", "0"), ("2.7.1", "1")])
def test_the_environment_is_what_the_scripts_set(
    request: pytest.FixtureRequest, machine: Machine, layout: str, torch: str, abi: str
) -> None:
    packed: Packed = request.getfixturevalue(layout)
    install(machine, packed, nnal=bool(abi))
    target = target_like(packed, torch, with_nnal=bool(abi))
    expected = {name: value.strip('"') for name, value in image_environment(target).items()}
    found = sourced(machine, f"--cxx_abi={abi}" if abi else "")
    assert without_driver(found) == without_driver(expected)
    assert expected["LD_LIBRARY_PATH"].endswith(":".join(DRIVER_LIBRARIES))
    assert "devlib" not in str(expected)


@pytest.mark.parametrize("layout", ["t39", "cann85", "cann91"])
def test_every_folder_of_the_environment_is_there(
    request: pytest.FixtureRequest, machine: Machine, layout: str
) -> None:
    packed: Packed = request.getfixturevalue(layout)
    install(machine, packed, nnal=True)
    env = image_environment(target_like(packed, "2.1.0", with_nnal=True))
    folders = {folder for value in env.values() for folder in value.split(":")}
    below = {f for f in folders if f.startswith(f"{ASCEND}/") and f not in DRIVER_LIBRARIES}
    assert below
    assert not [f for f in below if not Path(f.replace(ASCEND, str(machine.ascend))).is_dir()]
