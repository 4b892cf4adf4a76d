# SPDX-License-Identifier: Apache-2.0
"""Packs a made-up device, and gives every test a machine of its own to install on."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.made_up_device import made_up_device
from tools import archive

PACKAGES = archive.FOLDER / "ascend_sim" / "packages"
ARCH = platform.machine()
VARIABLES = {each["version"]: each["variables"] for each in archive.known(ARCH)["releases"]}
"""Those of each NNAL's set_env.sh, the oldest first."""
OLDEST = next(iter(VARIABLES))
TOOLKIT, KERNELS, NNAL = "toolkit", "kernels", "nnal"
DRIVER = {"version": "24.1.rc3", "chip": "910b", "devices": 8}
PYTHON_TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
APEX = f"apex-0.1+ascend-{PYTHON_TAG}-{PYTHON_TAG}-linux_{ARCH}.whl"


def make_spec(
    cann: str,
    layout: str = "ascend-toolkit",
    arch: str = ARCH,
    chip: str = "910b",
    operators: str = "",
) -> dict[str, Any]:
    """With ``operators`` of another version than the toolkit, where it is given."""
    name = {"a3": "A3"}.get(chip, chip)
    old = layout == "ascend-toolkit"
    kernels = f"Ascend-cann-kernels-{name}" if old else f"Ascend-cann-{name}-ops"
    tail = f"_{cann}_linux-{arch}.run"
    return {
        "arch": arch,
        "cann": cann,
        "layout": layout,
        "packages": [
            {"component": TOOLKIT, "file": f"Ascend-cann-toolkit{tail}"},
            {
                "component": KERNELS,
                "chip": chip,
                "file": f"{kernels}_{operators or cann}_linux-{arch}.run",
                **({"version": operators} if operators else {}),
            },
            {
                "component": NNAL,
                "file": f"Ascend-cann-nnal{tail}",
                "variables": VARIABLES.get(cann, VARIABLES[OLDEST]),
            },
        ],
        "apex": {"file": APEX},
        "driver": DRIVER,
    }


def run_pack(spec: object, device: Path, out: Path, work: Path) -> subprocess.CompletedProcess[str]:
    spec_file = work / "spec.json"
    spec_file.write_text(json.dumps(spec))
    command = [sys.executable, str(PACKAGES / "pack.py"), "--spec", str(spec_file)]
    command += ["--device", str(device), "--out", str(out)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def unpacked(file: Path, folder: Path) -> Path:
    """The files of all parts of a package, as its installer would place them."""
    words = ["--noexec", "--quiet"]
    subprocess.run(["sh", file, *words, f"--extract={folder / 'outer'}"], check=True)
    for part in sorted((folder / "outer/run_package").iterdir()):
        inner = folder / part.stem
        subprocess.run(["sh", part, *words, f"--extract={inner}"], check=True)
        # The only folder beside install.sh and the lists.
        for files in (each for each in inner.iterdir() if each.is_dir()):
            shutil.copytree(files, folder / "tree", dirs_exist_ok=True)
    return folder / "tree"


@pytest.fixture(scope="session")
def device(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up_device(tmp_path_factory.mktemp("device"))


@dataclass(frozen=True)
class Packed:
    """What pack.py made of one spec."""

    out: Path
    spec: dict[str, Any]

    def file(self, component: str) -> Path:
        names: dict[str, str] = {p["component"]: p["file"] for p in self.spec["packages"]}
        return self.out / "artifacts" / names[component]


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory, device: Path) -> Callable[..., Packed]:
    def packed(*arguments: str) -> Packed:
        work = tmp_path_factory.mktemp("packed")
        spec = make_spec(*arguments)
        result = run_pack(spec, device, work / "out", work)
        assert result.returncode == 0, result.stderr
        return Packed(work / "out", spec)

    return packed


@pytest.fixture(scope="session")
def t39(pack: Callable[..., Packed]) -> Packed:
    return pack("8.0.T39")


@pytest.fixture(scope="session")
def rc1(pack: Callable[..., Packed]) -> Packed:
    return pack("8.1.RC1")


@pytest.fixture(scope="session")
def rc2(pack: Callable[..., Packed]) -> Packed:
    return pack("8.2.RC1")


@pytest.fixture(scope="session")
def rc3(pack: Callable[..., Packed]) -> Packed:
    return pack("8.3.RC1")


@pytest.fixture(scope="session")
def cann85(pack: Callable[..., Packed]) -> Packed:
    return pack("8.5.0", "cann")


@pytest.fixture(scope="session")
def cann91(pack: Callable[..., Packed]) -> Packed:
    return pack("9.1.1", "cann")


@pytest.fixture(scope="session")
def a3(pack: Callable[..., Packed]) -> Packed:
    """For aarch64, whatever the tests run on: Machine.pretend_aarch64 makes it fit."""
    return pack("9.1.1", "cann", "aarch64", "a3")


@dataclass
class Machine:
    """A place to install in, with its own /etc, /var/log, HOME and first folder of PATH."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder in ("bin", "home", "usr"):
            (self.root / folder).mkdir()
            (self.root / folder).chmod(0o755)
        system_path = os.environ["PATH"]
        self.variables["PATH"] = f"{self.root / 'bin'}:{system_path}"
        self.variables["HOME"] = str(self.root / "home")
        self.variables["ASCEND_SIM_ROOT"] = str(self.root)
        self.shim("pip3", f'exec "{sys.executable}" -m pip "$@"')

    @property
    def ascend(self) -> Path:
        return self.root / "usr" / "Ascend"

    @property
    def is_root(self) -> bool:
        return os.geteuid() == 0

    def log(self, name: str) -> str:
        """The log of a package, or of the parts of all of them."""
        base = self.root if self.is_root else self.root / "home"
        folder = "cann_atb_log" if name.startswith("cann") else "ascend_seclog"
        return (base / "var/log" / folder / f"{name}_install.log").read_text()

    @property
    def record(self) -> Path:
        folder = "etc/Ascend" if self.is_root else "home/Ascend"
        return self.root / folder / "ascend_cann_install.info"

    def shim(self, name: str, script: str) -> None:
        """Puts a program in front of the system's; $REAL is the system's."""
        real = shutil.which(name)
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\nREAL={real}\n{script}\n")
        path.chmod(0o755)

    def pretend_aarch64(self) -> None:
        self.shim("uname", "echo aarch64")
        self.shim("arch", "echo aarch64")

    def run(
        self, file: Path, *arguments: str, stdin: str = "", variables: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", str(file), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env={**self.variables, **(variables or {})},
            timeout=600,
            check=False,
        )

    def install(
        self, file: Path, *arguments: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        flags = ("--quiet", "--install", "--install-for-all", f"--install-path={self.ascend}")
        return self.run(file, *flags, *arguments, variables=variables)

    def must_install(self, file: Path, **variables: str) -> None:
        result = self.install(file, **variables)
        assert result.returncode == 0, result.stdout + result.stderr

    def install_all(self, packed: Packed) -> None:
        self.must_install(packed.file(TOOLKIT))
        self.must_install(packed.file(KERNELS))
        home = str(self.ascend / "ascend-toolkit/latest")
        self.must_install(packed.file(NNAL), ASCEND_TOOLKIT_HOME=home, ASCEND_HOME_PATH=home)

    def state(self) -> dict[str, str]:
        """Everything under the install path's parent: kinds, modes, contents."""
        found = {}
        for path in sorted((self.root / "usr").rglob("*")):
            name = str(path.relative_to(self.root))
            if path.is_symlink():
                found[name] = f"link {path.readlink()}"
            else:
                content = path.read_bytes().hex() if path.is_file() else "directory"
                found[name] = f"{path.stat().st_mode:o} {content}"
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    tmp_path.chmod(0o755)
    return Machine(tmp_path)


@pytest.fixture(scope="session")
def installed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Machine]:
    """A machine with all packages of a release, by its fixture's name. It must not be changed."""
    made: dict[str, Machine] = {}

    def of(release: str) -> Machine:
        if release not in made:
            root = tmp_path_factory.mktemp("installed")
            root.chmod(0o755)
            machine = Machine(root)
            if release == "a3":
                machine.pretend_aarch64()
            machine.install_all(request.getfixturevalue(release))
            made[release] = machine
        return made[release]

    return of
