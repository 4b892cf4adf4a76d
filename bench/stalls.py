# SPDX-License-Identifier: Apache-2.0
"""Notices downloads that stall in the containers of a build.

A container's download has stalled if a connection is open or being opened, hardly a byte arrives,
and no process computes. A container that only keeps a connection open while it installs computes.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from types import TracebackType
from typing import Self

SECONDS = 10.0
"""What is quiet for so long has stalled. pip asks again after 15 seconds, apt and uv after 30."""

_EVERY = 1.0
_BYTES = 2_000
"""Bytes in a second that are as good as none."""

_BUSY = 0.1
"""The share of a processor from which on a container computes."""

_OPEN = ("01", "02")
"""The states ESTABLISHED and SYN_SENT in /proc/net/tcp."""

_LOOPBACK = ("0100007F", "00000000000000000000000001000000")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Sight:
    """A container at a moment: bytes that it has received, seconds that it has computed."""

    at: float
    received: int
    computed: float
    connected: bool

    def moved(self, before: Sight) -> bool:
        """Whether the container did something since ``before``, or waits for nobody."""
        seconds = self.at - before.at
        computed = self.computed - before.computed
        return (
            not self.connected
            or self.received - before.received > _BYTES * seconds
            # What an ended process computed is not in the sum any more.
            or not 0 <= computed <= _BUSY * seconds
        )


@dataclass
class Judge:
    """Follows the containers of a build; ``longest`` is the longest stall in seconds."""

    longest: float = 0.0
    _since: dict[str, Sight] = field(default_factory=dict)

    def see(self, sights: Mapping[str, Sight]) -> None:
        """Compare with what was seen before; a container that is gone has not stalled."""
        self._since = {name: self._begun(name, sight) for name, sight in sights.items()}

    def _begun(self, name: str, sight: Sight) -> Sight:
        before = self._since.get(name, sight)
        if sight.moved(before):
            return sight
        if (quiet := sight.at - before.at) >= SECONDS:
            self.longest = max(self.longest, quiet)
        return before


class Watch:
    """While the block runs, looks at the containers whose gateway is ``gateway``, if it is one."""

    def __init__(self, gateway: str) -> None:
        self._gateway = gateway
        self._judge = Judge()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        if self._gateway:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._end.set()
        if self._gateway:
            self._thread.join()

    @property
    def longest(self) -> float:
        """The longest stall in seconds; 0 if there was none."""
        return self._judge.longest

    def _run(self) -> None:
        while not self._end.wait(_EVERY):
            self._judge.see(seen(self._gateway))


def seen(gateway: str, proc: Path = Path("/proc")) -> dict[str, Sight]:
    """The containers that reach the network through ``gateway``, by their network's namespace."""
    spaces: dict[str, list[Path]] = {}
    own = _space(proc / "self")
    for process in proc.iterdir():
        if process.name.isdecimal() and (space := _space(process)) not in ("", own):
            spaces.setdefault(space, []).append(process)
    found: dict[str, Sight] = {}
    now = time.monotonic()
    for space, processes in spaces.items():
        # A process may end meanwhile.
        with suppress(OSError, ValueError, IndexError):
            net = processes[0] / "net"
            if routed_by(_rows(net / "route"), gateway):
                found[space] = Sight(
                    at=now,
                    received=received(_rows(net / "dev")),
                    computed=sum(map(_computed, processes)),
                    connected=connected([*_rows(net / "tcp"), *_rows(net / "tcp6")]),
                )
    return found


def _space(process: Path) -> str:
    try:
        return str((process / "ns" / "net").readlink())
    except OSError:
        return ""


def _rows(path: Path) -> Iterator[list[str]]:
    """The words of each line below the head."""
    yield from (line.split() for line in path.read_text(encoding="utf-8").splitlines()[1:])


def routed_by(routes: Iterable[list[str]], gateway: str) -> bool:
    """Whether the default route of /proc/net/route leads to ``gateway``."""
    # The kernel prints the address as a number in the machine's own order of bytes.
    [number] = struct.unpack("=I", IPv4Address(gateway).packed)
    return any(words[1:3] == ["00000000", f"{number:08X}"] for words in routes)


def received(devices: Iterable[list[str]]) -> int:
    """The bytes that all devices of /proc/net/dev but the loopback have received."""
    return sum(int(words[1]) for words in devices if words[0].endswith(":") and words[0] != "lo:")


def connected(connections: Iterable[list[str]]) -> bool:
    """Whether /proc/net/tcp has a connection to elsewhere that is open or being opened."""
    return any(
        words[3] in _OPEN and words[2].partition(":")[0] not in _LOOPBACK for words in connections
    )


def _computed(process: Path) -> float:
    """Seconds of the processor that ``process`` has used."""
    stat = (process / "stat").read_text(encoding="utf-8")
    # The name before the parenthesis may have blanks.
    words = stat.rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / _TICKS
