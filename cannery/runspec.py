# SPDX-License-Identifier: Apache-2.0
"""What a host must hand to a container: devices, driver files, shared memory.

Source: the device nodes and driver mounts on which the run commands of LLaMA-Factory, vllm-ascend
and the CANN images agree.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

DRIVER_MOUNTS = (
    "/usr/local/Ascend/driver",
    "/usr/local/dcmi",
    "/usr/local/bin/npu-smi",
    "/etc/ascend_install.info",
)

MANAGEMENT_DEVICES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")


SHM_SIZE = "16g"
"""What data loaders and HCCL share; docker's own 64 MB are too little."""


class DeviceKind(StrEnum):
    """On what a container runs. A pass on one kind says nothing about another."""

    NONE = "none"
    SIMULATED = "simulated"
    NPU = "npu"


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """The options of ``docker run``. ``mounts`` maps a host path to a path in the container."""

    kind: DeviceKind
    devices: tuple[str, ...] = ()
    mounts: Mapping[str, str] = field(default_factory=dict)
    shm_size: str = SHM_SIZE

    def docker_argv(self, image: str, platform: str, command: Iterable[str]) -> list[str]:
        """The ``docker run`` command."""
        argv = ["docker", "run", "--rm", "--platform", platform, "--shm-size", self.shm_size]
        for device in self.devices:
            argv += ["--device", device]
        for source, where in self.mounts.items():
            argv += ["--mount", f"type=bind,source={source},target={where},readonly"]
        return [*argv, image, *command]


def no_device() -> RunSpec:
    """A container without any driver."""
    return RunSpec(kind=DeviceKind.NONE)


def simulated_device(host: Path) -> RunSpec:
    """A container on the simulated host tree below ``host``."""
    return RunSpec(
        kind=DeviceKind.SIMULATED,
        mounts={f"{host}{path}": path for path in DRIVER_MOUNTS},
    )


def npu_device(root: Path = Path("/")) -> RunSpec | None:
    """A container on this host's NPUs, or None where there are none."""
    cards = sorted(root.glob("dev/davinci[0-9]*"))
    if not cards:
        return None
    management = [root / path.lstrip("/") for path in MANAGEMENT_DEVICES]
    return RunSpec(
        kind=DeviceKind.NPU,
        devices=tuple(str(path) for path in [*cards, *management] if path.exists()),
        mounts={path: path for path in DRIVER_MOUNTS if (root / path.lstrip("/")).exists()},
    )


def shell_text(argv: Iterable[str]) -> str:
    """``argv`` as text for a shell, an option a line."""
    lines: list[str] = []
    for word in argv:
        takes_value = bool(lines) and lines[-1].startswith("--") and " " not in lines[-1]
        if takes_value and not word.startswith("--"):
            lines[-1] += " " + shlex.quote(word)
        else:
            lines.append(shlex.quote(word))
    return " ".join(lines[:2]) + "".join(f" \\\n  {line}" for line in lines[2:])
