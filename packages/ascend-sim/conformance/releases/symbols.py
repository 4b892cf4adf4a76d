# SPDX-License-Identifier: Apache-2.0
"""What shared libraries need of others, and what they offer."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

from conformance.releases.collect_symbols import classify, needed_libraries

_SYMBOL = struct.Struct("<IBBHQQ")
_WEAK = 2
"""STB_WEAK"""
_NAME = re.compile(rb"(?<=\0)((?:acl|Hccl|Msprof|mspti|mstx|rt[A-Z])[A-Za-z0-9_]{3,})(?=\0)")
_WORKSPACE = "GetWorkspaceSize"


@dataclass(frozen=True)
class Required:
    """CANN's functions that a library needs.

    ``loading``: those that the loader must find, each as ``LIBRARY SYMBOL`` of symbols.txt.
    ``named``: whole texts that have the form of a function's name; those that are looked up at run
    time are among them. The second function of an operator, which plans the call, is left out.
    """

    loading: frozenset[str]
    named: frozenset[str]


def required(content: bytes) -> Required:
    """What the ELF file with this content needs."""
    elf = ELFFile(io.BytesIO(content))
    libraries = needed_libraries(elf)
    undefined = (each.name for each in symbols(elf) if not each.is_defined and not each.library)
    loading = frozenset(line for name in undefined if (line := classify(name, libraries)))
    data = [each.data() for each in elf.iter_sections() if each.name.startswith(".rodata")]
    texts = {text.decode() for part in data for text in _NAME.findall(b"\0" + part)}
    named = texts - {line.split()[1] for line in loading}
    return Required(loading, frozenset(name for name in named if not name.endswith(_WORKSPACE)))


def exported(path: Path) -> set[str]:
    """The names that the shared library defines for others."""
    with path.open("rb") as stream:
        return {each.name for each in symbols(ELFFile(stream)) if each.is_defined}


@dataclass(frozen=True)
class Symbol:
    """A dynamic symbol; ``library`` is where its version comes from, "" without a version."""

    name: str
    is_defined: bool
    library: str


def symbols(elf: ELFFile) -> Iterator[Symbol]:
    """Those that are not weak, by hand: pyelftools takes minutes for the 100,000 of torch_npu."""
    table, names = elf.get_section_by_name(".dynsym"), elf.get_section_by_name(".dynstr")
    if table is None or names is None:
        return
    texts = names.data()
    entries = list(_SYMBOL.iter_unpack(table.data()))
    section = elf.get_section_by_name(".gnu.version")
    words = section.data() if section else bytes(2 * len(entries))
    versions = struct.unpack(f"<{len(entries)}H", words)
    libraries = _libraries_of_versions(elf)
    for (at, info, _, index, _, _), version in zip(entries, versions, strict=True):
        name = texts[at : texts.index(b"\0", at)].decode()
        if name and (index or info >> 4 != _WEAK):
            yield Symbol(name, index != 0, libraries.get(version & 0x7FFF, ""))


def _libraries_of_versions(elf: ELFFile) -> dict[int, str]:
    section = elf.get_section_by_name(".gnu.version_r")
    if not isinstance(section, GNUVerNeedSection):
        return {}
    return {
        version["vna_other"]: str(library.name)
        for library, found in section.iter_versions()
        for version in found
    }
