# SPDX-License-Identifier: Apache-2.0
"""What is known of the chips: ../chips/CHIP.json, and in CHIP.types what operators accept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

CHIPS = Path(__file__).parent.parent / "chips"

# The numbers of aclDataType.
CODES = {
    "f32": 0,
    "f16": 1,
    "i8": 2,
    "i32": 3,
    "u8": 4,
    "i16": 6,
    "u16": 7,
    "u32": 8,
    "i64": 9,
    "u64": 10,
    "f64": 11,
    "bool": 12,
    "c64": 16,
    "c128": 17,
    "bf16": 27,
    "i4": 29,
    "c32": 33,
    "hif8": 34,
    "f8e5m2": 35,
    "f8e4m3fn": 36,
    "f8e8m0": 37,
    "f4e2m1": 40,
    "f4e1m2": 41,
}


@dataclass(frozen=True)
class Chip:
    """A chip that the software device simulates; ``sources`` says where each fact is from.

    ``name`` is the model that npu-smi and, after "Ascend", CANN name, and ``shown`` what the
    tables of npu-smi have. ``kernels`` is the folder of its operators in CANN's packages.
    ``memory`` is HBM or DDR, ``memory_mb`` that of one chip in MiB. ``processes_per_chip`` is how
    many of a group of HCCL can use one chip, 0 for any number; ``lacks`` are the collectives that
    HCCL does not have on it, and ``reduces`` the types that it reduces, all if there are none.
    ``architecture`` is CANN's number (NpuArch).
    """

    name: str
    shown: str
    kernels: str
    memory: str
    memory_mb: int
    chips_per_card: int
    processes_per_chip: int
    cube_cores: int
    vector_cores: int
    cache_mb: int
    architecture: int
    lacks: list[str]
    reduces: list[str]
    sources: dict[str, str]

    def settings(self, count: int, memory_mb: int = 0) -> str:
        """The file by which the simulated driver knows its ``count`` devices.

        ``memory_mb`` is the memory of each in MiB, 0 for the chip's own.
        """
        values = {**vars(self), "memory_mb": memory_mb or self.memory_mb}
        del values["sources"]
        lines = [f"count={count}"]
        for key, value in values.items():
            lines.append(f"{key}={','.join(value) if isinstance(value, list) else value}")
        return "\n".join(lines) + "\n"


class Accepted(NamedTuple):
    """The types of one parameter; ``place`` is the number of its argument."""

    operator: str
    place: int
    parameter: str
    types: tuple[str, ...]
    document: str


def names() -> list[str]:
    """The chips, as a spec names them."""
    return sorted(path.stem for path in CHIPS.glob("*.json"))


def load_chip(name: str) -> Chip:
    """``name`` must be one of ``names()``, in upper or lower case."""
    return Chip(**json.loads((CHIPS / f"{name.lower()}.json").read_text(encoding="utf-8")))


def accepted_types(name: str) -> list[Accepted]:
    """What the operators of the chip ``name`` accept, as far as documents tell."""
    text = (CHIPS / f"{name.lower()}.types").read_text(encoding="utf-8")
    return list(_parsed(text.splitlines()))


def types_file(rows: Iterable[Accepted]) -> str:
    """The file that the device reads: a parameter a line, its types as the bits of aclDataType."""
    lines = []
    for each in rows:
        mask = sum(1 << CODES[name] for name in each.types)
        lines.append(f"{each.operator} {each.place} {each.parameter} {mask:x} {each.document}\n")
    return "".join(lines)


def _parsed(lines: Iterable[str]) -> Iterator[Accepted]:
    for line in lines:
        if line.startswith("#"):
            continue
        text, _, document = line.strip().partition("; ")
        operator, *groups = text.split()
        for group in groups:
            parameters, _, types = group.partition("=")
            for each in parameters.split("+"):
                place, _, name = each.partition(":")
                yield Accepted(operator, int(place), name, tuple(types.split(",")), document)
