# SPDX-License-Identifier: Apache-2.0
"""Collects the CANN symbols that wheels of torch_npu and MindSpore leave undefined, a line each.

    python -m conformance.releases.collect_symbols WHEEL... > device/symbols.txt

Needs pyelftools.  docs/simulator.md says which wheels to pass and how to fetch them.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

# What tells CANN's symbols from those of libc, libtorch and the rest, in binaries that name no
# library for a symbol.
CANN_PREFIXES = (
    *("acl", "Hccl", "Msprof", "rt", "ge", "hal", "Adump"),
    *("_ZN2ge", "_ZNK2ge", "_ZTIN2ge", "_ZN3Adx"),
)
# MindSpore loads these by name for an Ascend device, and its other libraries of Ascend only when a
# program asks for them (DVPP, 310P, MindSpore Lite).
MINDSPORE_PLUGIN = {"libmindspore_ascend.so.2", "libmindspore_ops_ascend.so", "libhccl_plugin.so"}
# Functions of CANN whose names have no prefix, and the library of each.
OTHER_NAMES = {
    "Initialize": "libhcom_opskernel_builder",
    "Finalize": "libhcom_opskernel_builder",
    "GetOpsKernelInfoStores": "libhcom_opskernel_builder",
    "mmGetTid": "libascendcl",
    "_Z13CheckLogLevelii": "libascendcl",
    "_Z9DlogFlushv": "libascendcl",
}
ATB_PREFIXES = ("_ZN3atb", "_ZNK3atb", "_ZTIN3atb", "_ZTVN3atb", "atb")
C_LIBRARY_NAMES = {
    *("getentropy", "getenv", "getcwd", "getpid", "getuid", "geteuid", "getaddrinfo", "getline")
}


def defined_symbols(elf: ELFFile) -> set[str]:
    """Names that a binary has for others."""
    table = elf.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        return set()
    return {each.name for each in table.iter_symbols() if each["st_shndx"] != "SHN_UNDEF"}


def undefined_symbols(elf: ELFFile) -> Iterator[str]:
    """Names that a binary needs from elsewhere and that carry no version."""
    table = elf.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        return
    versions: Any = elf.get_section_by_name(".gnu.version")
    for index, symbol in enumerate(table.iter_symbols()):
        if symbol["st_shndx"] != "SHN_UNDEF" or not symbol.name:
            continue
        # A versioned reference names glibc or libstdc++; CANN libraries carry no versions.
        if versions is None or versions.get_symbol(index)["ndx"] in (
            "VER_NDX_LOCAL",
            "VER_NDX_GLOBAL",
        ):
            yield str(symbol.name)


def needed_libraries(elf: ELFFile) -> set[str]:
    """The sonames that a binary loads."""
    section = elf.get_section_by_name(".dynamic")
    if not isinstance(section, DynamicSection):
        return set()
    tags: Iterator[Any] = section.iter_tags("DT_NEEDED")
    return {str(tag.needed) for tag in tags}


def classify(name: str, needed: set[str]) -> str | None:
    """The line for one symbol, or None when it is not CANN's."""
    if name.startswith(ATB_PREFIXES) and "libatb.so" in needed:
        return f"libatb {name}"
    if name in OTHER_NAMES:
        return f"{OTHER_NAMES[name]} {name}"
    if name in C_LIBRARY_NAMES or not name.startswith(CANN_PREFIXES):
        return None
    return f"libascendcl {name}"


@dataclass(frozen=True)
class Binary:
    """A library of a wheel: the sonames that it loads, its own names and those from elsewhere."""

    needed: set[str]
    defined: set[str]
    undefined: set[str]


def binaries_of_wheel(wheel: Path) -> dict[str, Binary]:
    """The libraries of a wheel by their names."""
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            name = Path(member).name
            if ".so" in name:
                elf = ELFFile(io.BytesIO(archive.read(member)))
                undefined = set(undefined_symbols(elf))
                found[name] = Binary(needed_libraries(elf), defined_symbols(elf), undefined)
    return found


def loaded(binaries: dict[str, Binary]) -> dict[str, Binary]:
    """The libraries that a process loads: those of MindSpore's plugin, or else all."""
    todo = [name for name in binaries if name in MINDSPORE_PLUGIN] or list(binaries)
    found: dict[str, Binary] = {}
    while todo:
        name = todo.pop()
        if name in binaries and name not in found:
            found[name] = binaries[name]
            todo.extend(binaries[name].needed)
    return found


def symbols_of_wheel(wheel: Path) -> set[str]:
    """The lines for a wheel's libraries, without what one of them has for the others."""
    binaries = loaded(binaries_of_wheel(wheel)).values()
    own = set().union(*(each.defined for each in binaries))
    names = (classify(name, each.needed) for each in binaries for name in each.undefined - own)
    return {line for line in names if line}


def main() -> None:
    """Run as a program."""
    wheels = [Path(argument) for argument in sys.argv[1:]]
    if not wheels:
        sys.exit(__doc__)
    symbols = set().union(*(symbols_of_wheel(wheel) for wheel in wheels))
    print("# SPDX-License-Identifier: Apache-2.0")
    print("# Generated by conformance.releases.collect_symbols from these wheels; do not edit.")
    for wheel in sorted(wheels):
        print(f"#   {wheel.name}")
    print("\n".join(sorted(symbols)))


if __name__ == "__main__":
    main()
