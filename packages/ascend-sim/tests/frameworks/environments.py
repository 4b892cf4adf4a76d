# SPDX-License-Identifier: Apache-2.0
"""A virtual environment for each framework, with the versions of the image that has it."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

IMAGES = Path(__file__).parents[4] / "images"
TARGETS = {
    "llamafactory": "py311-torch2100-cann910-llamafactory095-910b",
    "swift": "py311-torch290-cann900-swift460-910b",
    "verl": "py311-torch2100-cann910-verl091-910b",
    "vllm": "py311-torch290-cann851-vllm0180-910b",
}
"""The target whose locked versions an environment has."""
BESIDE = {"swift": {"diffusers": "0.42.1"}}
"""Packages beside the locked ones, which no image has."""
BUILT = {"vllm": {"VLLM_TARGET_DEVICE": "empty"}}
"""Packages that are built from their sources with these settings, as for the image."""
ON_CPU = {
    "PYTHONPATH": str(Path(__file__).parent / "programs" / "on_cpu"),
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    "TRAINER_OPTIONS": "--use_cpu true",
}
"""Without torch_npu; the options are for trainers that want to be told."""
# On x86_64 the package index has only the torch for CUDA, which loads CUDA's libraries when it is
# imported, but not these.
NOT_LOADED = ("triton", "cuda-bindings")
PINNED = re.compile(r"^[A-Za-z0-9_.-]+==\S+", re.MULTILINE)


@dataclass(frozen=True)
class Environment:
    """A Python with a framework, torch, torch_npu and ascend-sim."""

    folder: Path
    versions: dict[str, str]
    """By the name of the package."""

    def run(self, cards: int, *command: str, seconds: int = 1500) -> tuple[int, str, str]:
        """The exit code, stdout and stderr of a program on a simulated host; 124 if it hangs.

        With 0 cards it runs on this host, without torch_npu, and computes on the CPU.
        """
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        settings = {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "TMPDIR": str(temporary),
            "HF_HUB_OFFLINE": "1",
            "LANG": "C.UTF-8",
        }
        line = [*command]
        if cards:
            line = ["ascend-sim", "run", "--cards", str(cards), "--", *command]
        else:
            settings.update(ON_CPU)
        with subprocess.Popen(
            ["timeout", "--kill-after=20", str(seconds), *line],
            env=settings,
            cwd=temporary,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            out, err = process.communicate()
        return process.returncode, out, err


def locked(name: str, file: str = "requirements.lock") -> dict[str, str]:
    """The versions of all packages of the target's lock; none if it has no such file."""
    lock = IMAGES / TARGETS[name] / file
    pins = PINNED.findall(lock.read_text(encoding="utf-8")) if lock.is_file() else []
    return {package: version for package, _, version in (pin.partition("==") for pin in pins)}


def made(name: str, folder: Path, wheel: Path) -> Environment:
    """The environment, made in ``folder`` unless it is there; packages come from the index."""
    versions = {**locked(name), **BESIDE.get(name, {})}
    if not (folder / "complete").is_file():
        install = ["uv", "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
        pins = [f"{package}=={version}" for package, version in versions.items()]
        tools = [f"{tool}=={v}" for tool, v in locked(name, "build-requirements.lock").items()]
        built = [pin for pin in pins if pin.partition("==")[0] in BUILT]
        excluded = folder.with_name("not-loaded.txt")
        excluded.write_text("\n".join(NOT_LOADED))
        constraints = folder.with_name(f"{name}.txt")
        constraints.write_text("\n".join(pins))
        ready = [*(pin for pin in pins if pin not in built), *tools]
        more = [f"torch=={versions['torch']}", str(wheel)]
        for command in (
            ["uv", "venv", "--quiet", "--clear", "--python", "3.11", str(folder)],
            [*install, "--no-deps", *ready],
            [*install, "--constraints", str(constraints), "--excludes", str(excluded), *more],
        ):
            subprocess.run(command, check=True)
        for pin in built:
            package = pin.partition("==")[0]
            source = ["--no-deps", "--no-build-isolation", "--no-binary", package, pin]
            settings = {**BUILT[package], "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
            subprocess.run([*install, *source], check=True, env={**os.environ, **settings})
        (folder / "complete").touch()
    return Environment(folder, versions)


def wheel_in(folder: Path) -> Path:
    """The wheel ascend-sim for this machine."""
    [found] = folder.glob(f"ascend_sim-*{platform.machine()}.whl")
    return found
