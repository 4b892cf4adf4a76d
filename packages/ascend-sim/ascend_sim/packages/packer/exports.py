# SPDX-License-Identifier: Apache-2.0
"""Takes symbols out of what a compiled library offers, for a release of CANN without them."""

from __future__ import annotations

import struct
from collections.abc import Container

from .tree import File, Tree

_ELF = b"\x7fELF"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_DYNSYM = 11
"""SHT_DYNSYM"""


def without(content: bytes, names: Container[str]) -> bytes:
    """The library with these symbols undefined, as if its sources did not have them.

    A file of another kind, or without a table of symbols, is returned as it is. The library must
    not use the symbols itself through that table.
    """
    if content[:4] != _ELF or len(content) < _HEADER.size:
        return content
    header = _HEADER.unpack_from(content)
    at, size, count = header[6], header[11], header[12]
    sections = [_SECTION.unpack_from(content, at + number * size) for number in range(count)]
    changed = bytearray(content)
    for section in sections:
        if section[1] == _DYNSYM:
            _undefine(changed, section[4], section[5], sections[section[6]][4], names)
    return bytes(changed)


def _undefine(content: bytearray, at: int, size: int, texts: int, names: Container[str]) -> None:
    """A loader skips a symbol that is in no section and has no value."""
    for place in range(at, at + size, _SYMBOL.size):
        name, info, other, _, _, length = _SYMBOL.unpack_from(content, place)
        end = content.index(b"\0", texts + name)
        if content[texts + name : end].decode() in names:
            _SYMBOL.pack_into(content, place, name, info, other, 0, 0, length)


def take_out(tree: Tree, lines: tuple[str, ...]) -> None:
    """Take symbols out of libraries of the tree; each line is ``LIBRARY SYMBOL``."""
    names: dict[str, set[str]] = {}
    for line in lines:
        library, symbol = line.split()
        names.setdefault(f"{library}.so", set()).add(symbol)
    for path, file in tree.files.items():
        found = names.get(path.rpartition("/")[2])
        if found:
            tree.files[path] = File(without(file.content, found), file.mode)
