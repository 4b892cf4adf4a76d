# SPDX-License-Identifier: Apache-2.0
"""The C++ ABI that a framework's libraries were built with, by the names of their symbols."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Framework:
    """A library of a framework's wheels, and the mangled C++ namespace of the framework in it."""

    library: str
    namespace: str


FRAMEWORKS: Mapping[str, Framework] = {
    "torch": Framework(library="torch/lib/libc10.so", namespace="3c10"),
    "mindspore": Framework(library="mindspore/lib/libmindspore_core.so", namespace="9mindspore"),
}
"""The packages whose ABI NNAL must have; all releases from torch 1.11 and MindSpore 2.0 on have
these libraries."""


def cxx_abi(library: bytes, namespace: str) -> int | None:
    """The libstdc++ ABI, 0 or 1, of the ELF file ``library``; None if that is not to be seen.

    Only names in the framework's ``namespace`` count, because a library of either ABI holds parts
    of libstdc++ of both. std::string is ``Ss`` in names of the old ABI, and has the namespace or
    the tag ``cxx11`` in those of the new one (Itanium C++ ABI; "Dual ABI" in libstdc++'s manual).
    """
    names = {*re.findall(rb"_ZNK?" + namespace.encode() + rb"\w+", library)}
    new = {name for name in names if b"St7__cxx11" in name or b"B5cxx11" in name}
    old = any(b"Ss" in name for name in names - new)
    return None if bool(new) is old else int(bool(new))
