# SPDX-License-Identifier: Apache-2.0
"""Reads what npu-smi prints. Any text is accepted; what cannot be read is left out."""

from __future__ import annotations

import re
from typing import NamedTuple

from .prefix import plain

_VERSION = re.compile(r"npu-smi\s+(\S+)\s.*?Version:\s*(\S+)", re.ASCII)
_NAMED = re.compile(r"(\d{1,4})\s+([A-Za-z0-9][\w.+-]{0,39})$", re.ASCII)
_NUMBERED = re.compile(r"(\d{1,4})(?:\s+(\d{1,4}))?$", re.ASCII)
_BUS = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]$", re.ASCII)
_HEALTH = re.compile(r"[A-Za-z]{2,16}$", re.ASCII)
_USAGE = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})", re.ASCII)
_PID = re.compile(r"\d{1,10}$", re.ASCII)
_CODE = re.compile(r"(?:ret is|ret:|failed)[^\n\d-]{0,20}(-\d{1,6})", re.ASCII)
_NEAR = re.compile(r"\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*$", re.ASCII)


class Chip(NamedTuple):
    """One chip of a card; memory is in MB.

    ``number`` counts all chips, as /dev/davinciN and the column Phy-ID of npu-smi do.
    """

    npu: int
    chip: int
    number: int
    name: str
    health: str
    bus: str
    used: int
    total: int


class Process(NamedTuple):
    """A process on a chip; memory is in MB. ``name`` can be empty.

    ``inner`` is its number in its container where npu-smi shows that, else 0.
    """

    npu: int
    chip: int
    pid: int
    name: str
    memory: int
    inner: int


class Smi(NamedTuple):
    """The output of ``npu-smi info``.

    ``code`` is the error that it printed, such as -8005, or 0; ``half`` counts chips of which one
    of the two lines is missing.
    """

    version: str
    chips: tuple[Chip, ...]
    processes: tuple[Process, ...]
    code: int
    half: int

    def number_of(self, npu: int, chip: int) -> int:
        """The number of a chip as in /dev/davinciN."""
        numbers = [c.number for c in self.chips if (c.npu, c.chip) == (npu, chip)]
        return numbers[0] if numbers else npu


def read_info(text: str) -> Smi:
    """The chips and processes in the output of ``npu-smi info``."""
    text = "\n".join(map(plain, text.splitlines()))
    version = _VERSION.search(text)
    code = _CODE.search(text)
    reader = _Reader()
    for line in map(str.strip, text.splitlines()):
        if line.startswith("|") and line.endswith("|") and len(line) > 2:
            reader.row([cell.strip() for cell in line[1:-1].split("|")])
        elif line.startswith("|"):
            reader.torn()
    reader.broken()
    return Smi(
        version[2] if version else "",
        tuple(reader.chips),
        tuple(reader.processes),
        int(code[1]) if code else 0,
        reader.half,
    )


class _Reader:
    """Collects rows; a chip has two, the second of which has its bus address."""

    def __init__(self) -> None:
        self.chips: list[Chip] = []
        self.processes: list[Process] = []
        self.half = 0
        self._first: tuple[int, str, str] | None = None
        self._in_processes = False
        self._alone = False  # whether a card has one chip, which the table does not number
        self._seen: set[tuple[int, int]] = set()

    def row(self, cells: list[str]) -> None:
        if len(cells) > 1 and cells[1] == "Process id":
            self.broken()
            self._in_processes = True
            self._alone = "Chip" not in cells[0]
        elif self._in_processes:
            self._process(cells)
        elif len(cells) == 3:
            self._chip(cells)
        elif len(cells) == 4:  # driver 25.7: the name has a column, and the second row no number
            first = " ".join(cells[:2]) if cells[1] else "0"
            self._chip([first, cells[2], cells[3]])

    def broken(self) -> None:
        """A chip whose second row is missing is counted, and left out."""
        self.half += self._first is not None
        self._first = None

    def torn(self) -> None:
        """A row without its end is half a chip too."""
        self._first = None
        self.half += 1

    def _chip(self, cells: list[str]) -> None:
        named, numbered = _NAMED.match(cells[0]), _NUMBERED.match(cells[0])
        if numbered and _BUS.match(cells[1]):
            self._second(numbered.groups(), cells)
        elif named and _HEALTH.match(cells[1]) and not cells[0].startswith("NPU"):
            self.broken()
            self._first = (int(named[1]), named[2], cells[1])

    def _second(self, numbers: tuple[str | None, ...], cells: list[str]) -> None:
        if self._first is None:
            self.half += 1
            return
        npu, name, health = self._first
        self._first = None
        chip = int(numbers[0] or 0)
        if (npu, chip) in self._seen:
            return
        usage = _USAGE.findall(cells[2])
        used, total = usage[-1] if usage else ("0", "0")
        number = npu if numbers[1] is None else int(numbers[1])
        self._seen.add((npu, chip))
        self.chips.append(Chip(npu, chip, number, name, health, cells[1], int(used), int(total)))

    def _process(self, cells: list[str]) -> None:
        place = _NUMBERED.match(cells[0])
        if place and (place[2] or self._alone) and len(cells) >= 4 and _PID.match(cells[1]):
            memory, inner = (int(cell) if _PID.match(cell) else 0 for cell in (*cells[3:5], "")[:2])
            self.processes.append(
                Process(int(place[1]), int(place[2] or 0), int(cells[1]), cells[2], memory, inner)
            )


def read_topology(text: str) -> dict[int, str]:
    """Card to the CPUs near it, as in ``144-167``, from ``npu-smi info -t topo``."""
    near = {}
    for line in text.splitlines():
        words = line.split()
        match = re.match(r"(?:NPU|Phy-ID)\s*(\d{1,4})\s", line, re.ASCII)
        if match and len(words) > 2 and "X" in words and _NEAR.match(words[-1]):
            near[int(match[1])] = words[-1]
    return near
