# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel around a made-up device, and installs it as pip does."""

from __future__ import annotations

import io
import json
import os
import platform
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.made_up_device import made_up_device
from tools import archive

MACHINE = platform.machine()
TORCH_NPU = "2.9.0.post2"
CANN = "9.0.0"
"""Which that torch_npu was made for."""


@pytest.fixture(scope="session")
def device(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up_device(tmp_path_factory.mktemp("device"))


@pytest.fixture(scope="session")
def facts() -> dict[str, Any]:
    return archive.known(MACHINE)


@pytest.fixture(scope="session")
def wheel(device: Path) -> bytes:
    return archive.wheel(device, MACHINE)


def unpack(wheel: bytes, site: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(wheel)) as packed:
        for member in packed.infolist():
            packed.extract(member, site)
            (site / member.filename).chmod(member.external_attr >> 16)


@dataclass
class Python:
    """A Python with ascend-sim, whose user has a home folder of their own."""

    site: Path
    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home.mkdir(exist_ok=True)

    def install(self, name: str, version: str) -> None:
        """Put in no more of a package than its metadata."""
        info = self.site / f"{name}-{version}.dist-info"
        info.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (info / "METADATA").write_text(text)

    def settings(self) -> dict[str, str]:
        own = {"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONPATH": str(self.site)}
        return {**own, "PYTHONDONTWRITEBYTECODE": "1", **self.variables}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "ascend_sim.command", *arguments],
            env=self.settings(),
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments)
        out, said = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, said)

    def inside(self, *options: str) -> dict[str, str]:
        """The environment of a program that runs on the simulated host."""
        program = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
        done = self.call("run", *options, "--", *program)
        assert done.returncode == 0, done.stderr
        found: dict[str, str] = json.loads(done.stdout)
        return found

    def hosts(self) -> list[Path]:
        """The simulated hosts in the cache."""
        cache = self.home / ".cache" / "ascend-sim"
        return sorted(cache.iterdir()) if cache.is_dir() else []


@pytest.fixture
def bare(wheel: bytes, tmp_path: Path) -> Python:
    """Without torch and torch_npu."""
    unpack(wheel, tmp_path / "site")
    return Python(tmp_path / "site", tmp_path / "home")


@pytest.fixture
def python(bare: Python) -> Python:
    bare.install("torch", "2.9.0")
    bare.install("torch_npu", TORCH_NPU)
    return bare
