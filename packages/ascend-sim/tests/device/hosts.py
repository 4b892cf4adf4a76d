# SPDX-License-Identifier: Apache-2.0
"""Builds the device for this machine, and simulates hosts with it."""

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

from ascend_sim.packages.packer.chips import accepted_types, load_chip, types_file

FOLDER = Path(__file__).parents[2]
DEVICE = FOLDER / "device"
KERNELS = "built-in/op_impl/ai_core/tbe/kernel"
MEMORY_MB = 65536
"""That of a 910b."""


def library_path(name: str) -> str:
    """Where the compiler has a library."""
    command = [f"{platform.machine()}-linux-gnu-g++", f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass(frozen=True)
class Host:
    """A machine with a driver tree and an operator package, and the built toolkit."""

    built: Path
    driver: Path
    opp: Path

    @property
    def driver_library(self) -> Path:
        return self.driver / "lib64" / "driver"

    @property
    def conf(self) -> Path:
        """By what the driver knows its devices."""
        return self.driver / "simulated_devices.conf"

    def describe(self, chip: str, count: int = 8, memory_mb: int = 0) -> None:
        """Give the host devices of that chip."""
        self.conf.write_text(load_chip(chip).settings(count, memory_mb))

    def install_kernels(self, chip: str) -> Path:
        """The folder of the chip's kernels, with the types that its operators accept."""
        folder = self.opp / KERNELS / load_chip(chip).kernels
        folder.mkdir(parents=True)
        (folder / "accepted_types").write_text(types_file(accepted_types(chip)))
        return folder

    @property
    def sanitizer(self) -> dict[str, str]:
        """What a Python process needs to load a device with sanitizers."""
        if not (self.built / "sanitizers").is_file():
            return {}
        return {
            # The sanitizer must come first, and find the functions of C++ that it replaces.
            "LD_PRELOAD": f"{library_path('libasan.so')} {library_path('libstdc++.so.6')}",
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }

    def environment(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        settings = {
            **os.environ,
            "NPUSIM_LIBRARY": str(self.built / "toolkit/lib64/libascendcl.so"),
            "LD_LIBRARY_PATH": str(self.driver_library),
            "ASCEND_OPP_PATH": str(self.opp),
            # What is computed is tested in more types than an NPU takes.
            "NPUSIM_LENIENT": "1",
            **self.sanitizer,
            **changes,
        }
        return {name: value for name, value in settings.items() if value is not None}

    def start(self, probe: str, *arguments: str, **changes: str | None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.device.probes", probe, *arguments],
            cwd=FOLDER,
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
            env=self.environment({"LD_PRELOAD": None, **changes}),
            capture_output=True,
            text=True,
            check=False,
        )

    @classmethod
    def make(cls, built: Path, folder: Path, memory_mb: int = MEMORY_MB) -> Host:
        """A host whose files are in a folder, and whose 8 devices have ``memory_mb`` MiB each."""
        host = cls(built, folder / "driver", folder / "opp")
        shutil.copytree(built / "driver", host.driver)
        host.describe("910b", memory_mb=memory_mb)
        (host.driver / "version.info").write_text("Version=24.1.rc3-sim\n")
        host.install_kernels("910b")
        return host


def build(out: Path, sanitizers: str = "") -> Path:
    """The built device: the one that NPUSIM_TEST_BUILD names, or a new one in `out`."""
    if prebuilt := os.environ.get("NPUSIM_TEST_BUILD"):
        return Path(prebuilt)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(
        ["sh", DEVICE / "build.sh", out, platform.machine(), sanitizers],
        check=True,
        env={**os.environ, "PATH": path},
    )
    return out
