# SPDX-License-Identifier: Apache-2.0
"""What a host must hand to a container: devices, driver files, shared memory.

Source: the device nodes and driver mounts on which the run commands of LLaMA-Factory, vllm-ascend
and the CANN images agree; for ascend-docker-runtime, Ascend/mind-cluster@HEAD, docs/en/scheduling/
usage/containerization and base.list in component/ascend-docker-runtime/build/scripts.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from cannery.options.run import SHM_SIZE

DRIVER = "/usr/local/Ascend/driver"

DRIVER_MOUNTS = (
    DRIVER,
    "/usr/local/dcmi",
    "/usr/local/bin/npu-smi",
    "/etc/ascend_install.info",
)

MANAGEMENT_DEVICES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")

NOT_IN_BASE_LIST = (f"{DRIVER}/version.info", "/etc/ascend_install.info")
"""What ascend-docker-runtime leaves out of what it mounts by itself."""

VISIBLE_TO_RUNTIME = "ASCEND_VISIBLE_DEVICES"
"""Tells ascend-docker-runtime which cards to hand over."""

VISIBLE_TO_CANN = "ASCEND_RT_VISIBLE_DEVICES"
"""Tells CANN which of the container's cards to use; counted from 0 inside."""


class DeviceKind(StrEnum):
    """On what a container runs. A pass on one kind says nothing about another."""

    NONE = "none"
    SIMULATED = "simulated"
    NPU = "npu"


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """The options of ``docker run``.

    ``mounts`` (read only) and ``volumes`` map a path of the host to one of the container; a folder
    of ``volumes`` that is not there is made. ``ports`` are the same on both sides.
    """

    kind: DeviceKind
    runtime: str = ""
    devices: tuple[str, ...] = ()
    mounts: Mapping[str, str] = field(default_factory=dict)
    volumes: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    shm_size: str = SHM_SIZE

    def found_below(self, root: Path) -> RunSpec:
        """The same without the devices and mounts that the host below ``root`` does not have."""

        def is_there(path: str) -> bool:
            return (root / path.lstrip("/")).exists()

        return replace(
            self,
            devices=tuple(filter(is_there, self.devices)),
            mounts={path: where for path, where in self.mounts.items() if is_there(path)},
        )

    def docker_argv(self, image: str, platform: str, command: Iterable[str]) -> list[str]:
        """The ``docker run`` command."""
        argv = ["docker", "run", "--rm", "--platform", platform, "--shm-size", self.shm_size]
        if self.runtime:
            argv += ["--runtime", self.runtime]
        for device in self.devices:
            argv += ["--device", device]
        for source, where in self.mounts.items():
            argv += ["--mount", _mount(source, where)]
        for source, where in self.volumes.items():
            argv += ["--volume", f"{source}:{where}"]
        for port in self.ports:
            argv += ["--publish", f"{port}:{port}"]
        for name, value in self.environment.items():
            argv += ["--env", f"{name}={value}"]
        return [*argv, image, *command]


def _mount(source: str, where: str) -> str:
    """The value of ``--mount``, which docker reads as a line of comma separated values."""
    line = io.StringIO()
    fields = ["type=bind", f"source={source}", f"target={where}", "readonly"]
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()


def no_device() -> RunSpec:
    """A container without any driver."""
    return RunSpec(kind=DeviceKind.NONE)


def simulated_device(host: Path, cards: int = 0) -> RunSpec:
    """A container on the simulated host tree below ``host``, with all its cards or the first."""
    visible = {VISIBLE_TO_CANN: ",".join(map(str, range(cards)))}
    return RunSpec(
        kind=DeviceKind.SIMULATED,
        mounts={f"{host}{path}": path for path in DRIVER_MOUNTS},
        environment=visible if cards else {},
    )


def npus(cards: Sequence[int]) -> RunSpec:
    """A container on the cards with these numbers of a host that has all it should have."""
    return RunSpec(
        kind=DeviceKind.NPU,
        devices=(*(f"/dev/davinci{card}" for card in cards), *MANAGEMENT_DEVICES),
        mounts={path: path for path in DRIVER_MOUNTS},
    )


def ascend_runtime(cards: Sequence[int]) -> RunSpec:
    """The same, where ascend-docker-runtime hands over the devices and most of the driver."""
    first, last = cards[0], cards[-1]
    in_a_row = len(cards) > 1 and [*cards] == [*range(first, last + 1)]
    numbers = f"{first}-{last}" if in_a_row else ",".join(map(str, cards))
    return RunSpec(
        kind=DeviceKind.NPU,
        runtime="ascend",
        mounts={path: path for path in NOT_IN_BASE_LIST},
        environment={VISIBLE_TO_RUNTIME: numbers},
    )


def cards_of(root: Path = Path("/")) -> tuple[int, ...]:
    """The numbers of this host's cards, in their order."""
    found = (re.fullmatch(r"davinci(\d+)", path.name) for path in (root / "dev").glob("davinci*"))
    return tuple(sorted(int(match[1]) for match in found if match))


def npu_device(root: Path = Path("/")) -> RunSpec | None:
    """A container on all NPUs of this host, or None where there are none."""
    cards = cards_of(root)
    return npus(cards).found_below(root) if cards else None


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
