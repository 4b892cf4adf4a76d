# SPDX-License-Identifier: Apache-2.0
"""Judges whether a file of unknown hash is the package that its name promises.

The vendor's packages are shell archives of makeself (2.5.0 with a patch, made with ``--sha256``;
hicann/cmake 9.1.0): a header of shell code names the lines that it has, the bytes of each archive
behind it, and a checksum of each. The archive has the packages of the parts, whose names end in the
release and the machine, as ``cann-runtime_9.1.0_linux-x86_64.run`` (before CANN 8.5
``CANN-runtime-8.1.RC1-linux.x86_64.run``). No program of the archive is run.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from cannery.common.archives import read_tar
from cannery.common.errors import some_of
from cannery.common.files import open_file
from cannery.common.outside import one_line
from cannery.fetch.contents import SHOWN, description, page_in

_HEADER = 1 << 18
"""The most bytes of a header; makeself's has about 20,000, and a licence may be in it."""

_SETTING = re.compile(rb'^(label|filesizes|skip|MD5|SHA)="?([^"\n]*)"?$', re.MULTILINE)
_OLD_SKIP = re.compile(rb"head -n (\d{1,5}) ")
"""Where releases of makeself before 2.4.3 have the number of lines."""

_DIGESTS = {"SHA": (hashlib.sha256, 64), "MD5": (hashlib.md5, 32)}
"""The checksums that tell alterations; makeself writes zeros for one that was not wanted."""

_SMALLEST = 1 << 20
"""Bytes of an archive whose contents do not name a release: the vendor's smallest has 400 MB."""

_MEMBERS = 2000
"""The most members of an archive that are looked at."""

_CHUNK = 1 << 20
_SUFFIX = ".run"
_MACHINES = r"(aarch64|x86_64)"
_FILE = re.compile(rf"(?P<name>.+?)_(?P<release>[^_]+)_linux(?:-(?P<machine>{_MACHINES}))?\.run")
_RELEASE = re.compile(r"(?<=[-_])\d+\.(?:[\w.~]|-(?=beta|alpha|rc))+(?=[-_]linux)", re.IGNORECASE)
_MACHINE = re.compile(rf"(?<=linux[-._]){_MACHINES}(?=\.run$)")
_OPERATORS = re.compile(r"opp[-_]kernel|(?<![a-z])ops[-_]", re.IGNORECASE)
_CHIP = re.compile(r"(?<=-)(\d{3}[a-z]?|A\d)(?=-ops[-_])", re.IGNORECASE)
"""The chip in the name of a part, as in cann-910b-ops-math (README of hicann/ops-math)."""

_PARTS = {
    "nnal": re.compile(r"atb", re.IGNORECASE),
    "toolkit": re.compile(r"runtime", re.IGNORECASE),
}
"""Package to a part that only it has; operators have another name in each release."""


@dataclass(frozen=True, kw_only=True)
class _Header:
    """The header of a shell archive: its length, and size and checksums of each archive."""

    length: int
    sizes: tuple[int, ...]
    checksums: dict[str, list[str]]


def wrong_package(path: Path, name: str) -> str:
    """Why the file ``path`` is not the package ``name``; empty if it is one.

    Of a file that is no shell archive by its name, only that it is a page is known.

    Raises:
        OSError: it cannot be read.
    """
    with open_file(path) as stream:
        size = path.stat().st_size
        head = stream.read(_HEADER)
        if not name.endswith(_SUFFIX):
            return page_in(head, size)
        header = _header(head)
        if header is None:
            return f"it is {description(head, size)}, and not a package of the vendor's"
        if why := _of_other_length(header, size) or _altered(stream, header):
            return why
        try:
            stream.seek(header.length)
            with read_tar(stream, "r|*") as archive:
                names = [member.name.rpartition("/")[2] for member in islice(archive, _MEMBERS)]
        except (tarfile.TarError, zlib.error, EOFError, ValueError, OSError) as error:
            return f"its archive is damaged ({one_line(str(error))[:SHOWN]})"
    return _other(name, [each for each in names if each.endswith(_SUFFIX)], size)


def wrong_header(path: Path, name: str) -> str:
    """The same by the header and the length alone, which takes no time."""
    with open_file(path) as stream:
        size, head = path.stat().st_size, stream.read(_HEADER)
    if not name.endswith(_SUFFIX):
        return page_in(head, size)
    if header := _header(head):
        return _of_other_length(header, size)
    return f"it is {description(head, size)}, and not a package of the vendor's"


def _of_other_length(header: _Header, size: int) -> str:
    expected = header.length + sum(header.sizes)
    return "" if size == expected else f"it has {size:,} bytes, and its header says {expected:,}"


def _header(head: bytes) -> _Header | None:
    """The header that ``head`` begins with, or None if it is not makeself's."""
    if not head.startswith(b"#!"):
        return None
    settings: dict[str, str] = {}
    for key, value in _SETTING.findall(head):
        settings.setdefault(key.decode(), value.decode("ascii", "replace"))
    old = _OLD_SKIP.search(head)
    skip = settings.get("skip") or (old[1].decode() if old else "")
    sizes = settings.get("filesizes", "").split()
    if not (skip.isdecimal() and sizes and all(each.isdecimal() for each in sizes)):
        return None
    lines = head.split(b"\n", int(skip[:6]))
    if len(lines) <= int(skip[:6]):
        return None
    checksums = {}
    for kind, (_, digits) in _DIGESTS.items():
        values = settings.get(kind, "").split()
        right = [v for v in values if re.fullmatch(f"[0-9a-f]{{{digits}}}", v) and v.strip("0")]
        if len(right) == len(sizes):
            checksums[kind] = right
    return _Header(
        length=len(head) - len(lines[-1]),
        sizes=tuple(int(each[:15]) for each in sizes),
        checksums=checksums,
    )


def _altered(stream: IO[bytes], header: _Header) -> str:
    """Why the archives are not those that the header describes; empty if they are."""
    if not header.checksums:
        return "its header has no checksum, neither sha256 nor MD5"
    kind = next(iter(header.checksums))
    stream.seek(header.length)
    for size, expected in zip(header.sizes, header.checksums[kind], strict=True):
        digest = _DIGESTS[kind][0](usedforsecurity=False)
        left = size
        while left and (chunk := stream.read(min(left, _CHUNK))):
            digest.update(chunk)
            left -= len(chunk)
        if digest.hexdigest() != expected:
            which = {"SHA": "sha256"}.get(kind, kind)
            return f"its archive has the {which} {digest.hexdigest()}, not the header's {expected}"
    return ""


def _other(name: str, parts: list[str], size: int) -> str:
    """Why ``parts``, the packages in it, are of another package than ``name``; empty if not."""
    wanted = _FILE.fullmatch(name)
    if not wanted:
        return ""
    releases, machines = _matches(_RELEASE, parts), _matches(_MACHINE, parts)
    component, own = _component(wanted["name"]), _component_of(parts)
    chip, chips = "".join(_matches(_CHIP, [f"{wanted['name']}-"])), _matches(_CHIP, parts)
    checks = {
        f"it has {size:,} bytes, and no parts that name a release": not releases
        and size < _SMALLEST,
        f"it is of release {some_of(releases, 3)}, and not of {wanted['release']}": releases
        and wanted["release"].lower() not in releases,
        f"it is for {' and '.join(machines)}, and not for {wanted['machine']}": wanted["machine"]
        and machines
        and wanted["machine"] not in machines,
        f"it is a package of {own}, with {some_of(parts, 3)}": component
        and own not in ("", component),
        f"its operators are for chip {' and '.join(chips)}, and not for {chip}": chip
        and chips
        and chip not in chips,
    }
    return next((why for why, applies in checks.items() if applies), "")


def _matches(pattern: re.Pattern[str], names: Iterable[str]) -> list[str]:
    return sorted({match[0].lower() for each in names for match in pattern.finditer(each)})


def _component(name: str) -> str:
    """toolkit, kernels or nnal by the beginning of a file's name; empty for another package."""
    words = re.split(r"[-_]", name.lower())
    if {"kernels", "ops"} & {*words}:
        return "kernels"
    return next((each for each in ("toolkit", "nnal") if each in words), "")


def _component_of(parts: Iterable[str]) -> str:
    """The same by the parts in a package."""
    every = " ".join(parts)
    own = next((name for name, part in _PARTS.items() if part.search(every)), "")
    return own or ("kernels" if _OPERATORS.search(every) else "")
