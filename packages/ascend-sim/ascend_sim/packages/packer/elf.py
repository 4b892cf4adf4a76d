# SPDX-License-Identifier: Apache-2.0
"""Small shared libraries that hold nothing, for any architecture, made without a compiler."""

from __future__ import annotations

import struct

from .tree import ELF_MACHINES

MACHINES = {name: number for number, name in ELF_MACHINES.items()}
OTHER = {"aarch64": "x86_64", "x86_64": "aarch64"}

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_ENTRY = struct.Struct("<qQ")
_HASH = struct.pack("<4I", 1, 1, 0, 0)
"""A table of one bucket, for the one symbol that every table begins with."""

_SHARED, _LOAD, _DYNAMIC = 3, 1, 2
_READ_WRITE = 6
_PAGE = 0x10000


def empty_library(arch: str, name: str) -> bytes:
    """A library with a name and no symbols, which a loader of ``arch`` accepts."""
    strings = b"\0" + name.encode() + b"\0"
    hashes = _HEADER.size + 2 * _SEGMENT.size
    symbols = hashes + len(_HASH)
    texts = symbols + 24
    dynamic = -(-(texts + len(strings)) // 8) * 8
    entries = ((14, 1), (4, hashes), (5, texts), (6, symbols), (10, len(strings)), (11, 24), (0, 0))
    table = b"".join(_ENTRY.pack(*each) for each in entries)
    size = dynamic + len(table)
    identity = b"\x7fELF\2\1\1" + bytes(9)
    header = _HEADER.pack(
        *(identity, _SHARED, MACHINES[arch], 1, 0, _HEADER.size, 0, 0),
        *(_HEADER.size, _SEGMENT.size, 2, 0, 0, 0),
    )
    segments = _SEGMENT.pack(_LOAD, _READ_WRITE, 0, 0, 0, size, size, _PAGE)
    segments += _SEGMENT.pack(_DYNAMIC, _READ_WRITE, *(dynamic,) * 3, *(len(table),) * 2, 8)
    body = header + segments + _HASH + bytes(24) + strings
    return body.ljust(dynamic, b"\0") + table
