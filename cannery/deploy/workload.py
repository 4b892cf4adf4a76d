# SPDX-License-Identifier: Apache-2.0
"""An image with the cards and hosts that it runs on, and the checks of such a request."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cannery.common.errors import Problem, UsageError, enumerated
from cannery.common.model import Chip, Target
from cannery.common.option import Size, parse_size
from cannery.common.references import is_reference
from cannery.deploy.run_spec import (
    DRIVER_MOUNTS,
    MULTI_NODE_MOUNTS,
    NOT_IN_BASE_LIST,
    RANK_TABLE,
    SHM_SIZE,
    RunSpec,
    ascend_runtime,
    npus,
    simulated_device,
)
from cannery.deploy.user_options import CLUSTERS, HPC, TRUSTED, UserOptions

CHIPS: Mapping[str, Chip] = {
    "910": Chip(resource="huawei.com/Ascend910", ring="ascend-910", hosts={8: "module"}),
    "910b": Chip(
        resource="huawei.com/Ascend910",
        ring="ascend-910b",
        hosts={8: "module-910b-8", 16: "module-910b-16"},
    ),
    # The samples for A3 have 910B's ring-controller.atlas. A node of a SuperPoD has another label:
    # module-a3-16-super-pod or module-a3-8-super-pod.
    "a3": Chip(resource="huawei.com/Ascend910", ring="ascend-910b", hosts={16: "module-a3-16"}),
    # No source has a maximum; no host is known with a card above davinci15.
    "310p": Chip(resource="huawei.com/Ascend310P", ring="ascend-310P", hosts={16: ""}),
    # Atlas 850 servers, and Atlas 350 cards; a node of an Atlas 950 SuperPoD has another label:
    # 950-SuperPod-Atlas-8.
    "950": Chip(
        resource="huawei.com/npu",
        ring="ascend-npu",
        hosts={8: "850-Atlas-8p-8", 16: "350-Atlas-16"},
    ),
}


RUNTIMES = ("devices", "ascend")
"""Cards of a container: its devices by name, or those of ascend-docker-runtime."""

ON_NODES = ("k8s", "volcano", "slurm")
"""Formats for several hosts."""

_WITH_RUNTIME = ("shell", "compose", "devcontainer", "k8s", "deployment", "volcano")

MAX_CARDS = 999
MAX_NODES = 999

IDLE = ("sleep", "infinity")
"""The command of a container without one, so that users can open a shell in it."""

HCCL_WAITS = {"HCCL_CONNECT_TIMEOUT": "7200", "HCCL_EXEC_TIMEOUT": "7200"}
"""Seconds for which a card waits for the others.

CANN's default of 120 s for a connection is too short if a rank tokenises data first; 7200 is the
maximum. Source: CANN's reference of environment variables; a training team's notes on the 910B.
"""

_NAME_LENGTH = 50
"""A host name has at most 63 characters, and a cluster adds some to this name."""

_TAKEN = {"/", *DRIVER_MOUNTS, *NOT_IN_BASE_LIST, TRUSTED, "/dev/shm"}  # noqa: S108 - as below

_TEMPORARY = "/tmp"  # noqa: S108 - where every Linux has it

_HOME_OF_ROOT = "/root"

_ELSEWHERE = "Mount it elsewhere."

_RENAME = "Rename the directory, or mount a link to it."

_AFTER_DASHES = "Write it after '--', as in: -- python3 train.py"

_ODD_IN_UNIT = re.compile(r"""[\s%$\\"'\x00-\x1f\x7f]""")
"""What quadlet copies, without quotes or escapes, into lines of systemd that divide at it."""

_PORTS_OF_SERVICE = re.compile("[0-9]+:[0-9]+(/tcp)?")


@dataclass(frozen=True, kw_only=True)
class Workload:
    """An image with its cards and hosts.

    It uses ``cards``, numbered as on the host, on each of ``nodes`` hosts. ``runtime`` is one of
    RUNTIMES, ``simulate_host`` is a simulated host tree that replaces NPUs, ``shm_size`` has
    docker's format, and ``mounts`` maps folders of a host to folders of the container. ``user`` is
    a UID, or a UID and a GID with a colon; empty is root. With ``read_only`` only
    /tmp and the home directory are writable.
    """

    image: str
    target: Target
    cards: tuple[int, ...] = (0,)
    nodes: int = 1
    runtime: str = RUNTIMES[0]
    simulate_host: Path | None = None
    shm_size: str = SHM_SIZE
    user: str = ""
    read_only: bool = False
    mounts: Mapping[str, str] = field(default_factory=dict)
    asked: UserOptions = field(default_factory=UserOptions)
    command: tuple[str, ...] = ()

    @property
    def chip(self) -> Chip:
        name, own = self.target.chip, self.target.own_chip
        usual = CHIPS.get(name, Chip())
        chip = Chip(
            resource=own.resource or usual.resource,
            ring=own.ring or usual.ring,
            hosts=own.hosts or usual.hosts,
        )
        if not (chip.resource and chip.ring and chip.hosts):
            what = f"the cards of chip {name} are unknown; known are {', '.join(CHIPS)}."
            fix = f"Write its resource, ring and hosts below chips.{name} in matrix.yaml."
            raise UsageError(Problem(what=what, fix=fix))
        return chip

    @property
    def ascend(self) -> bool:
        """Whether ascend-docker-runtime adds the cards to the container."""
        return self.runtime == "ascend" and not self.simulate_host

    @property
    def name(self) -> str:
        """The target's id as a host name: letters, digits and dashes, beginning with a letter."""
        name = re.sub(r"[^a-z0-9]+", "-", self.target.id.lower())
        return (name if name[:1].isalpha() else f"t-{name}")[:_NAME_LENGTH].strip("-")

    @property
    def title(self) -> str:
        return " ".join(self.target.summary.split())

    @property
    def service(self) -> str:
        return self.target.application.component if self.target.application else "ascend"

    @property
    def ports(self) -> tuple[str, ...]:
        return self.target.application.ports if self.target.application else ()

    @property
    def published(self) -> tuple[str, ...]:
        """The ports of the host and the container that the user names, and others of the image."""
        named = self.asked.ports
        taken = {text.partition("/")[0].rpartition(":")[2] for text in named}
        return (*(f"{port}:{port}" for port in self.ports if port not in taken), *named)

    @property
    def volumes(self) -> Mapping[str, str]:
        """Folders of the host to the application's folders, less those in ``mounts``."""
        volumes = self.target.application.volumes if self.target.application else {}
        return {s: where for s, where in volumes.items() if _normal(where) not in self._mounted}

    @property
    def _mounted(self) -> frozenset[str]:
        return frozenset(map(_normal, self.mounts.values()))

    @property
    def environment(self) -> dict[str, str]:
        """Variables for several cards and of a user. Those of the application are in the image."""
        variables = dict(HCCL_WAITS) if len(self.cards) * self.nodes > 1 else {}
        if self.unprivileged:
            # The image's /etc/passwd has root, but not this user. Without these variables the home
            # directory is '/', and programs that look up the user's name fail.
            variables |= {"HOME": _TEMPORARY, "USER": f"user{self._uid}"}
        return variables

    @property
    def unprivileged(self) -> bool:
        return self._uid != 0

    @property
    def _uid(self) -> int:
        return int(self.user.partition(":")[0] or 0)

    @property
    def tmpfs(self) -> tuple[str, ...]:
        """The folders in memory that a read-only root file system needs: /tmp, and root's home."""
        needed = (_TEMPORARY,) if self.unprivileged else (_TEMPORARY, _HOME_OF_ROOT)
        return tuple(path for path in needed if self.read_only and path not in self._mounted)

    @property
    def folder(self) -> str:
        """The working directory; empty for the image's own, which is '/'.

        CANN writes kernel_meta there when it compiles an operator, and ends if it cannot. Source:
        vllm-project/vllm-ascend#433 (Permission denied: '//kernel_meta').
        """
        return _TEMPORARY if self.unprivileged or self.read_only else ""

    @property
    def shm(self) -> Size:
        return parse_size(self.shm_size)

    def check(self, format: str) -> None:  # noqa: A002 - as in text()
        """Raise UsageError with every problem of the workload in ``format``, one of FORMATS."""
        others = (*self._of_mounts(format), *self.asked.problems(format))
        if problems := [*self._problems(format), *others]:
            raise UsageError(problems)

    def _problems(self, format: str) -> Iterator[Problem]:  # noqa: A002
        most = self.chip.cards
        if not 1 <= len(self.cards) <= most:
            what = f"a host has 1 to {most} cards of {self.target.chip}, not {len(self.cards)}."
            fix = "For more, add --nodes." if self.cards else ""
            yield Problem(what=what, fix=fix)
        if self.nodes > 1 and format not in ON_NODES:
            what = f"the format {format} is for one host, not for {self.nodes}."
            yield Problem(what=what, fix=f"Use --format {_either(ON_NODES)}.")
        if not is_reference(self.image):
            what = f"invalid image name {self.image!r}."
            yield Problem(what=what, fix="Write it as in registry.example.com/ascend:TAG.")
        for word in self.command:
            if not _can_be_written(word):
                yield Problem(what=f"invalid word {word!r} in the command: it is not UTF-8 text.")
        for what, given, fix in self._unfit(format):
            if given:
                yield Problem(what=f"the format {format} {what}", fix=fix)

    def _unfit(self, format: str) -> Iterator[tuple[str, object, str]]:  # noqa: A002
        """What a format has no place for, whether it is asked for, and what to do."""
        if format not in _WITH_RUNTIME:
            fix = f"Leave it out, or use --format {_either(_WITH_RUNTIME)}."
            yield "has no --runtime ascend, which docker and containerd have.", self.ascend, fix
        if format in HPC:
            yield "has no --user.", self.user, "The program runs as the user who starts it."
            yield "has no --read-only.", self.read_only, "Its root is read-only without it."
            fix = "The program has /dev/shm of its host."
            yield "has no --shm-size.", self.shm_size != SHM_SIZE, fix
            texts = [*self.mounts, *self.mounts.values(), *self.asked.mounts]
            texts += [str(self.simulate_host or "")]
            odd = [repr(text) for text in texts if "," in text]
            yield f"cannot have the path {enumerated(odd)}, because of its comma.", odd, _RENAME
            what = "needs a command, because a job of Slurm has no terminal."
            yield what, format == "slurm" and not self.command, _AFTER_DASHES
        if format == "quadlet":
            texts = [*self.mounts, *self.mounts.values(), *self.asked.mounts]
            texts += [str(self.simulate_host or "")]
            odd = [repr(text) for text in texts if _ODD_IN_UNIT.search(text)]
            yield f"cannot have the path {enumerated(odd)}.", odd, _RENAME
            what = "loses an empty word of the command: quadlet drops it."
            yield what, "" in self.command, "Write the command into a script."
        if format == "devcontainer" and self.cards:
            fix = "Write it as postStartCommand into the printed text."
            yield "has no command: its container waits for an editor.", self.command, fix
            spec = run_spec(self).docker_argv(self.image, self.target.platform, ())
            odd = [word for word in spec if "${" in word]
            what = f"replaces '${{…}}' in every text: {enumerated([*map(repr, odd)])}."
            yield what, odd, "Rename it, or set the variable in the container."
        if format == "deployment":
            ports = self.asked.ports
            yield "is for a server, and needs its command.", not self.command, _AFTER_DASHES
            named = f": {_either(self.ports)}" if self.ports else ""
            what = f"needs the port on which the command listens{named}."
            fix = "Name it, as in -p 8000:8000; the first -p tells whether the server is ready."
            yield what, not ports and len(self.ports) != 1, fix
            odd = [text for text in ports if not _PORTS_OF_SERVICE.fullmatch(text)]
            what = f"has no addresses and only TCP: {enumerated(odd)}."
            yield what, odd, "Write PORT:PORT, as in -p 80:8000."

    def _of_mounts(self, format: str) -> Iterator[Problem]:  # noqa: A002
        in_cluster = format in CLUSTERS
        taken = _TAKEN | ({*MULTI_NODE_MOUNTS} if self.nodes > 1 else set())
        others: dict[str, str] = {}
        for source, where in self.mounts.items():
            beginnings = ("/",) if in_cluster or format == "devcontainer" else ("/", "./", "../")
            if ":" in source + where or not _can_be_written(source + where):
                what = (
                    f"{source!r} cannot be mounted on {where!r}: a path must be text without ':'."
                )
                yield Problem(what=what, fix=_RENAME)
            elif not where.startswith("/"):
                what = f"invalid path in the container {where!r}: it does not begin with '/'."
                yield Problem(what=what, fix="Write HOST:CONTAINER, as in /data:/data.")
            elif (place := _normal(where)) in taken:
                what = f"{where} in the container is used by the driver or by shared memory."
                yield Problem(what=what, fix=_ELSEWHERE)
            elif place == RANK_TABLE and format == "volcano":
                what = f"{where} in the container is used by the rank table."
                yield Problem(what=what, fix=_ELSEWHERE)
            elif (other := others.setdefault(place, source)) != source:
                what = f"{source!r} cannot be mounted on {where!r}: {other!r} is mounted there."
                yield Problem(what=what, fix=_ELSEWHERE)
            elif not source.startswith(beginnings):
                fix = "Begin it with '/'." if len(beginnings) == 1 else "Begin it with '/' or './'."
                yield Problem(what=f"invalid path of the host {source!r}.", fix=fix)


def run_spec(workload: Workload, devices: RunSpec | None = None) -> RunSpec:
    """The options for one host; ``devices`` are those of the host, if they are known."""
    if devices is None and workload.simulate_host:
        devices = simulated_device(workload.simulate_host, len(workload.cards))
    elif devices is None:
        devices = (ascend_runtime if workload.ascend else npus)(workload.cards)
    return replace(
        devices,
        shm_size=workload.shm_size,
        user=workload.user,
        unprivileged=workload.unprivileged,
        read_only=workload.read_only,
        tmpfs=workload.tmpfs,
        folder=workload.folder,
        volumes={**workload.volumes, **workload.mounts},
        mounts={**devices.mounts, **workload.asked.mounts},
        ports=workload.published,
        asked=workload.asked,
        environment={**devices.environment, **workload.environment},
    )


def _either(names: Sequence[str]) -> str:
    return enumerated(names).replace(" and ", " or ")


def _normal(path: str) -> str:
    """``path``, which begins with '/', as a container engine compares it with others."""
    return "/" + posixpath.normpath(path).strip("/")


def _can_be_written(word: str) -> bool:
    """Whether ``word`` is valid UTF-8 without NUL."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in word
