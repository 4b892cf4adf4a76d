# SPDX-License-Identifier: Apache-2.0
"""What the packer of ascend-sim makes of cannery's specification, installed on this machine.

The packer packs a stand-in for the compiled device: nothing here computes.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cannery.common.model import Target
from cannery.image.simulator_spec import SOURCES, package_spec
from cannery.matrix.project import Project

ROOT = Path(__file__).resolve().parents[2]
PACK = SOURCES / "ascend_sim" / "packages" / "pack.py"
TARGETS = Project(root=ROOT).matrix().targets.values()
PLATFORM = {"aarch64": "linux/arm64", "x86_64": "linux/amd64"}[platform.machine()]
COMPONENTS = ("toolkit", "kernels", "nnal")
DEVICE = (
    *("toolkit/lib64/libascendcl.so", "toolkit/devlib/libascend_hal.so", "driver/bin/npu-smi"),
    *("nnal/cxx_abi_0/libatb.so", "nnal/cxx_abi_1/libatb.so"),
    "driver/lib64/driver/libascend_hal.so",
)


@dataclass(frozen=True)
class Packed:
    """A target for this machine, and the folder of its simulated packages."""

    target: Target
    artifacts: Path

    def file(self, component: str) -> Path:
        return self.artifacts / self.target.artifacts[component].name


@dataclass(frozen=True)
class Machine:
    """A place to install in, with its own /etc, /var/log, HOME and first folder of PATH."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> Machine:
        for name in ("bin", "home", "usr"):
            (root / name).mkdir()
            (root / name).chmod(0o755)
        root.chmod(0o755)
        pip = root / "bin" / "pip3"
        pip.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pip "$@"\n')
        pip.chmod(0o755)
        return cls(root)

    @property
    def ascend(self) -> Path:
        return self.root / "usr" / "Ascend"

    def install(self, file: Path) -> None:
        home = str(self.ascend / "ascend-toolkit/latest")
        settings = {
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.root / "home"),
            "ASCEND_SIM_ROOT": str(self.root),
            "ASCEND_TOOLKIT_HOME": home,
            "ASCEND_HOME_PATH": home,
        }
        flags = ["--quiet", "--install", "--install-for-all", f"--install-path={self.ascend}"]
        done = subprocess.run(
            ["sh", file, *flags], env=settings, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Packed]:
    return packer(tmp_path_factory)


def packer(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Packed]:
    """Makes the packages of a release of CANN, each once."""
    device = tmp_path_factory.mktemp("device")
    for name in DEVICE:
        (device / name).parent.mkdir(parents=True, exist_ok=True)
        (device / name).write_text(f"made-up {name}\n")
    made: dict[tuple[str, ...], Packed] = {}

    def packed(cann: str, chip: str = "", platform: str = PLATFORM) -> Packed:
        """Of the first target with NNAL, if there is any."""
        key = (cann, chip, platform)
        if key not in made:
            fitting = [each for each in TARGETS if each.cann.version == cann]
            fitting = [each for each in fitting if not chip or each.chip == chip]
            first = max(fitting, key=lambda each: each.with_nnal)
            target = replace(first, platform=platform)
            folder = tmp_path_factory.mktemp("packed")
            (folder / "spec.json").write_text(json.dumps(package_spec(target)))
            argv: list[str | Path] = [sys.executable, "-B", PACK, "--spec", folder / "spec.json"]
            argv += ["--device", device, "--out", folder / "out"]
            subprocess.run(argv, check=True)
            made[key] = Packed(target, folder / "out" / "artifacts")
        return made[key]

    return packed


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine.make(tmp_path)


@pytest.fixture(scope="session")
def installed(
    pack: Callable[..., Packed], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Machine]:
    """A machine with all packages of a release of CANN. It must not be changed."""
    made: dict[str, Machine] = {}

    def find(cann: str) -> Machine:
        if cann not in made:
            machine = Machine.make(tmp_path_factory.mktemp("installed"))
            for component in COMPONENTS:
                machine.install(pack(cann).file(component))
            made[cann] = machine
        return made[cann]

    return find
