# SPDX-License-Identifier: Apache-2.0
"""Compiles the device once for this machine, and gives each test a simulated host of its own."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
DEVICE = TESTS.parent / "cannery" / "simulator" / "device"
KERNELS = "built-in/op_impl/ai_core/tbe/kernel/ascend910b"
CONF = "count=8\nname=910B3\nhbm_mb=65536\n"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.simulator)


@dataclass(frozen=True)
class Host:
    """A machine with a driver tree and an operator package, and the built toolkit."""

    built: Path
    driver: Path
    opp: Path

    @property
    def driver_library(self) -> Path:
        return self.driver / "lib64" / "driver"

    def environment(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        settings = {
            **os.environ,
            "NPUSIM_LIBRARY": str(self.built / "toolkit/lib64/libascendcl.so"),
            "LD_LIBRARY_PATH": str(self.driver_library),
            "ASCEND_OPP_PATH": str(self.opp),
            **changes,
        }
        return {name: value for name, value in settings.items() if value is not None}

    def start(self, probe: str, *arguments: str, **changes: str | None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "simulator.probes", probe, *arguments],
            cwd=TESTS,
            env=self.environment(changes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, probe: str, *arguments: str, **changes: str | None) -> tuple[Any, str]:
        """What the probe returned, and what was said on stderr."""
        process = self.start(probe, *arguments, **changes)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return json.loads(out), err

    def ask(self, probe: str, *arguments: str, **changes: str | None) -> Any:
        return self.run(probe, *arguments, **changes)[0]

    def npu_smi(self, *arguments: str, **changes: str | None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.driver / "bin" / "npu-smi", *arguments],
            env=self.environment(changes),
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if prebuilt := os.environ.get("NPUSIM_TEST_BUILD"):
        return Path(prebuilt)
    out = tmp_path_factory.mktemp("device")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(
        ["sh", DEVICE / "build.sh", out, platform.machine()],
        check=True,
        env={**os.environ, "PATH": path},
    )
    return out


@pytest.fixture
def host(built: Path, tmp_path: Path) -> Host:
    driver, opp = tmp_path / "driver", tmp_path / "opp"
    shutil.copytree(built / "driver", driver)
    (driver / "simulated_devices.conf").write_text(CONF)
    (driver / "version.info").write_text("Version=24.1.rc3-sim\n")
    (opp / KERNELS).mkdir(parents=True)
    return Host(built, driver, opp)
