# SPDX-License-Identifier: Apache-2.0
"""The lists of CANN's packages' files, as the probe has compared them with an image. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class FileList:
    """A list of a package's files, compared with the image.

    ``count`` are missing, of which ``missing`` has the first; ``few`` says that the list itself may
    be wrong. ``changed`` are files with another hash.
    """

    path: str
    files: int
    count: int
    few: bool
    missing: tuple[str, ...]
    changed: tuple[str, ...]


def file_lists_of(rows: Iterable[Mapping[str, Any]], home: str) -> Iterator[FileList]:
    """The lists in the folder ``home`` among those of the probe."""
    for row in rows:
        if str(row["list"]).startswith(f"{home}/"):
            yield FileList(
                path=str(row["list"]),
                files=int(row["files"]),
                count=int(row["count"]),
                few=row["few"] is True,
                missing=tuple(map(str, row["missing"])),
                changed=tuple(map(str, row["changed"])),
            )
