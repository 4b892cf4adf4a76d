# SPDX-License-Identifier: Apache-2.0
"""The devices, driver files and shared memory that a host gives to a container.

Source: the device nodes and driver mounts that the run commands of LLaMA-Factory, vllm-ascend and
the CANN images have in common; for ascend-docker-runtime, Ascend/mind-cluster@HEAD, docs/en/
scheduling/usage/containerization and base.list in component/ascend-docker-runtime/build/scripts.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cannery.common.model import DeviceKind
from cannery.deploy.user_options import UserOptions

SHM_SIZE = "16g"
"""What data loaders and HCCL share; docker's own 64 MB are too little."""

DRIVER = "/usr/local/Ascend/driver"

DRIVER_MOUNTS = (
    DRIVER,
    "/usr/local/dcmi",
    "/usr/local/bin/npu-smi",
    "/etc/ascend_install.info",
)

MANAGEMENT_DEVICES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")

NOT_IN_BASE_LIST = (f"{DRIVER}/version.info", "/etc/ascend_install.info")
"""Files that ascend-docker-runtime does not mount."""

MULTI_NODE_MOUNTS = ("/etc/hccn.conf", "/usr/bin/hccn_tool")
"""The addresses of the cards' network, and its tool. Source: vllm-ascend's guides."""

RANK_TABLE = "/user/serverid/devindex/config"
"""The path of the rank table that Ascend's operator writes, for frameworks that need one."""

VISIBLE_TO_RUNTIME = "ASCEND_VISIBLE_DEVICES"
"""The variable with the cards that ascend-docker-runtime adds to a container."""

VISIBLE_TO_CANN = "ASCEND_RT_VISIBLE_DEVICES"
"""The variable with the cards that CANN uses, numbered from 0 in the container."""


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """The options of ``docker run``.

    ``mounts`` (read only) and ``volumes`` map paths of the host to paths of the container; docker
    creates missing folders of ``volumes``. ``user`` is a UID, or a UID and a GID with a colon;
    ``folder`` is the working directory. ``unprivileged`` drops all capabilities. ``ports`` are as
    in 8888:8888, and the variables in ``asked`` go before those in ``environment``.
    """

    kind: DeviceKind
    runtime: str = ""
    devices: tuple[str, ...] = ()
    mounts: Mapping[str, str] = field(default_factory=dict)
    volumes: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[str, ...] = ()
    asked: UserOptions = field(default_factory=UserOptions)
    environment: Mapping[str, str] = field(default_factory=dict)
    shm_size: str = SHM_SIZE
    user: str = ""
    unprivileged: bool = False
    read_only: bool = False
    tmpfs: tuple[str, ...] = ()
    folder: str = ""

    def found_below(self, root: Path) -> RunSpec:
        """The same, without devices and mounts that do not exist below ``root``."""

        def is_there(path: str) -> bool:
            return (root / path.lstrip("/")).exists()

        return replace(
            self,
            devices=tuple(filter(is_there, self.devices)),
            mounts={path: where for path, where in self.mounts.items() if is_there(path)},
        )

    def docker_argv(
        self, image: str, platform: str, command: Iterable[str], program: str = "docker"
    ) -> list[str]:
        """The ``docker run`` command, or podman's, which takes the same options."""
        argv = [program, "run", "--rm", "--platform", platform, "--shm-size", self.shm_size]
        asked = self.asked
        argv += ["--detach", "--init"] if asked.detach else []
        argv += ["--name", asked.name] if asked.name else []
        argv += ["--network", asked.network] if asked.network else []
        argv += ["--runtime", self.runtime] if self.runtime else []
        argv += ["--user", self.user] if self.user else []
        if self.unprivileged:
            argv += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        argv += ["--read-only"] if self.read_only else []
        repeated = {
            "--tmpfs": map(tmpfs_option, self.tmpfs),
            "--workdir": [self.folder] if self.folder else [],
            "--device": self.devices,
            "--mount": (mount_option(source, where) for source, where in self.mounts.items()),
            "--volume": (f"{source}:{where}" for source, where in self.volumes.items()),
            "--publish": self.ports,
            "--env": (
                name if value is None else f"{name}={value}"
                for name, value in {**self.environment, **asked.environment}.items()
            ),
        }
        argv += [
            word for option, values in repeated.items() for v in values for word in (option, v)
        ]
        return [*argv, *asked.more, image, *command]


def tmpfs_option(path: str) -> str:
    """A folder in memory at ``path`` with programs, such as operators compiled on first use."""
    return f"{path}:exec"


def mount_option(source: str, where: str) -> str:
    """The value of ``--mount``, which engines parse as a line of comma-separated values."""
    line = io.StringIO()
    fields = ["type=bind", f"source={source}", f"target={where}", "readonly"]
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()


def no_device() -> RunSpec:
    """A container without any driver."""
    return RunSpec(kind=DeviceKind.NONE)


def simulated_device(host: Path, cards: int = 0) -> RunSpec:
    """A container with the simulated host tree ``host`` and its first ``cards`` cards; 0 is all."""
    visible = {VISIBLE_TO_CANN: ",".join(map(str, range(cards)))}
    return RunSpec(
        kind=DeviceKind.SIMULATED,
        mounts={f"{host}{path}": path for path in DRIVER_MOUNTS},
        environment=visible if cards else {},
    )


def npus(cards: Sequence[int]) -> RunSpec:
    """A container with these cards, on a host with a complete driver."""
    return RunSpec(
        kind=DeviceKind.NPU,
        devices=(*(f"/dev/davinci{card}" for card in cards), *MANAGEMENT_DEVICES),
        mounts={path: path for path in DRIVER_MOUNTS},
    )


def ascend_runtime(cards: Sequence[int]) -> RunSpec:
    """A container with these cards, if ascend-docker-runtime adds the devices and the driver."""
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
    """The numbers of this host's cards, in ascending order."""
    numbers = (path.name.removeprefix("davinci") for path in (root / "dev").glob("davinci*"))
    return tuple(sorted(int(number) for number in numbers if re.fullmatch("[0-9]+", number)))


def npu_device(root: Path = Path("/")) -> RunSpec | None:
    """A container with all NPUs of this host; None if there are none."""
    cards = cards_of(root)
    return npus(cards).found_below(root) if cards else None


def shell_text(argv: Iterable[str]) -> str:
    """``argv`` as text for a shell, with one option per line."""
    lines: list[str] = []
    for word in argv:
        takes_value = bool(lines) and lines[-1].startswith("--") and " " not in lines[-1]
        if takes_value and not word.startswith("--"):
            lines[-1] += " " + shlex.quote(word)
        else:
            lines.append(shlex.quote(word))
    return " ".join(lines[:2]) + "".join(f" \\\n  {line}" for line in lines[2:])
