# SPDX-License-Identifier: Apache-2.0
"""The wheels of torch_npu that the package index has, through pip and uv."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import requests
import tomllib
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from ascend_sim.command.errors import UsageError

PACKAGE = "torch_npu"
PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13")
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_28_x86_64")
TIMEOUT = 300
"""Seconds in which the index must say something."""


@dataclass(frozen=True)
class Wheel:
    """A file of the index; ``python`` is a version as ``3.11``, ``machine`` as uname says it."""

    file: str
    url: str
    python: str
    machine: str

    @classmethod
    def of(cls, url: str) -> Wheel:
        file = url.rpartition("/")[2]
        tag = next(iter(parse_wheel_filename(file)[3]))
        machine = "aarch64" if tag.platform.endswith("aarch64") else "x86_64"
        return cls(file, url, f"{tag.interpreter[2]}.{tag.interpreter[3:]}", machine)

    def content(self) -> bytes:
        """The whole file.

        Raises:
            UsageError: it cannot be downloaded.
        """
        try:
            answer = requests.get(self.url, timeout=TIMEOUT)
            answer.raise_for_status()
        except requests.RequestException as error:
            raise UsageError(f"{self.file} cannot be downloaded: {error}") from error
        return answer.content


def releases() -> list[str]:
    """The versions with a wheel for one of PYTHONS, oldest first."""
    found: set[str] = set()
    for python in PYTHONS:
        options = [f"--platform={name}" for name in PLATFORMS]
        options += [f"--python-version={python}", "--only-binary=:all:", "--pre"]
        said = _asked([sys.executable, "-m", "pip", "index", "versions", PACKAGE, *options])
        lines = [line for line in said.splitlines() if line.startswith("Available versions: ")]
        found.update(name for line in lines for name in line.partition(": ")[2].split(", "))
    return sorted(found, key=Version)


def wheels(release: str) -> list[Wheel]:
    """Those for PYTHONS, in the order of Python and machine."""
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--no-deps",
        "-",
    ]
    command += ["--python-version=3.9", "--format=pylock.toml", "--no-header"]
    lock = tomllib.loads(_asked(command, f"{PACKAGE}=={release}"))
    found = [Wheel.of(wheel["url"]) for wheel in _listed(lock)]
    order = {python: number for number, python in enumerate(PYTHONS)}
    known = [wheel for wheel in found if wheel.python in order]
    return sorted(known, key=lambda wheel: (order[wheel.python], wheel.machine))


def _listed(lock: Any) -> Iterable[Any]:
    return (wheel for package in lock["packages"] for wheel in package["wheels"])


def _asked(command: list[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(f"{command[2]} cannot read the package index:\n{done.stderr[-1000:]}")
    return done.stdout
