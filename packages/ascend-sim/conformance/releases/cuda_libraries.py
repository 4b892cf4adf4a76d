# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for NVIDIA's libraries, so that a torch for CUDA loads without 3 GB of them.

torch looks for them when it is imported, and calls none where there is no GPU. Each function says
that there is no device.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from elftools.elf.elffile import ELFFile

from conformance.releases.collect_symbols import needed_libraries
from conformance.releases.symbols import symbols

_NVIDIA = ("libcu", "libnccl", "libnv")
_FUNCTION = re.compile(r"_*(cu|nccl|nv)[A-Za-z]")
_NO_DEVICE = 100
"""cudaErrorNoDevice"""


def stand_ins(torch: Path, folder: Path) -> None:
    """Compile a stand-in for each of NVIDIA's libraries that ``torch`` needs into ``folder``.

    Raises:
        OSError: a file cannot be written.
        subprocess.CalledProcessError: the compiler failed.
    """
    folder.mkdir(parents=True)
    libraries: set[str] = set()
    defined: set[str] = set()
    undefined: set[str] = set()
    for path in sorted((torch / "lib").glob("*.so*")):
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            libraries |= needed_libraries(elf)
            for symbol in symbols(elf):
                if symbol.is_defined:
                    defined.add(symbol.name)
                elif _FUNCTION.match(symbol.name):
                    undefined.add(symbol.name)
    missing = sorted(name for name in libraries if name.startswith(_NVIDIA))
    _compile(folder, missing, sorted(undefined - defined))


def _compile(folder: Path, libraries: Iterable[str], functions: Iterable[str]) -> None:
    """One library with all functions, and one for each name, which needs the first."""
    source = folder / "functions.c"
    lines = (
        f'int f{number}(void) __asm__("{name}");\nint f{number}(void) {{ return {_NO_DEVICE}; }}\n'
        for number, name in enumerate(functions)
    )
    source.write_text("".join(lines), encoding="utf-8")
    command = ["gcc", "-shared", "-fPIC", "-nostdlib", "-O1"]
    own = str(folder / "libfunctions.so")
    subprocess.run([*command, "-Wl,-soname,libfunctions.so", "-o", own, str(source)], check=True)
    for name in libraries:
        named = [f"-Wl,-soname,{name}", "-Wl,--no-as-needed", "-o", str(folder / name), own]
        subprocess.run([*command, *named], check=True)
