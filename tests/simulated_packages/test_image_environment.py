# SPDX-License-Identifier: Apache-2.0
"""The ENV of an image is what the packages' own set_env.sh files set, in both layouts."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.model import Target
from cannery.image.environment import (
    ASCEND,
    DRIVER_LIBRARIES,
    GUARD,
    SYSTEM_PATH,
    environment_of,
)

from .conftest import Machine, Packed

RELEASES = ["8.0.T39", "8.1.RC1", "8.2.RC1", "8.3.RC1", "8.5.0", "9.1.1"]
OF_THE_SHELL = {"HOME", "_", "PWD", "SHLVL", "OLDPWD"}


def source(script: Path, arguments: str, start: dict[str, str]) -> dict[str, str]:
    """The environment after sourcing, in which nothing was said on stderr."""
    code = f"set -- {arguments}; . {shlex.quote(str(script))}; /usr/bin/env -0"
    done = subprocess.run(
        ["bash", "-e", "-c", code], capture_output=True, text=True, env=start, check=True
    )
    assert done.stderr == ""
    return dict(item.split("=", 1) for item in done.stdout.split("\0") if item)


def target_with(packed: Packed, torch: str, abi: str) -> Target:
    """The target that was packed, with this torch, and with NNAL if there is an ABI for it."""
    return replace(packed.target, with_nnal=bool(abi), torch=torch, cxx_abi=int(abi or 0))


def without_driver(environment: Mapping[str, str]) -> dict[str, str]:
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
    environment = source(machine.ascend / "ascend-toolkit/set_env.sh", "", start)
    home = Path(environment["ASCEND_HOME_PATH"])
    compiler = home / "share/info/ascendnpu-ir/bin/set_env.sh"
    if compiler.is_file():
        environment = source(compiler, "", environment)
    if nnal:
        environment = source(machine.ascend / "nnal/atb/set_env.sh", nnal, environment)
    return {
        name: value.replace(str(machine.ascend), ASCEND)
        for name, value in environment.items()
        if name not in OF_THE_SHELL
    }


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("torch", "abi"), [("", ""), ("2.1.0", "0"), ("2.7.1", "1")])
def test_the_environment_matches_the_scripts(
    pack: Callable[[str], Packed],
    installed: Callable[[str], Machine],
    release: str,
    torch: str,
    abi: str,
) -> None:
    target = target_with(pack(release), torch, abi)
    expected = environment_of(target).cann
    found = sourced(installed(release), nnal=f"--cxx_abi={abi}" if abi else "")
    assert without_driver(found) == without_driver(expected)
    assert expected["LD_LIBRARY_PATH"].endswith(":".join(DRIVER_LIBRARIES))
    assert "devlib" not in str(expected)


@pytest.mark.parametrize("release", ["8.0.T39", "8.5.0", "9.1.1"])
def test_every_folder_of_the_toolkit_is_there(
    pack: Callable[[str], Packed], installed: Callable[[str], Machine], release: str
) -> None:
    """NNAL's set_env.sh, and so ENV, names some that are not."""
    env = environment_of(target_with(pack(release), "2.1.0", "")).cann
    folders = {folder for value in env.values() for folder in value.split(":")}
    below = {f for f in folders if f.startswith(f"{ASCEND}/") and f not in DRIVER_LIBRARIES}
    there = str(installed(release).ascend)
    assert below
    assert not [f for f in below if not Path(f.replace(ASCEND, there)).is_dir()]
