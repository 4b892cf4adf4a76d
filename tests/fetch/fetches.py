# SPDX-License-Identifier: Apache-2.0
"""Fetches from servers of tests, in seconds where a user waits minutes."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path

from cannery.common.bases import Address, File
from cannery.common.http import RetryPolicy
from cannery.fetch.fetcher import Fetcher, Terms
from cannery.fetch.http import Client
from cannery.fetch.store import Store
from tests.fetch.server import Fault, Files

QUICK = RetryPolicy(tries=4, all_tries=12, pause=0.001, longest=5.0)
SHORT = (2.0, 0.15)

CONTENT = os.urandom(100_000)
HALF = len(CONTENT) // 2


def failing(files: Files, *kinds: str, at: int = HALF, path: str = "a/toolkit.run") -> None:
    """Make the next requests for ``path`` go wrong."""
    files.faults[path] = [Fault(kind=kind, at=at) for kind in kinds]


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


@cache
def _client(ca: Path | None) -> Client:
    """A client; reading this machine's certificates takes longer than most fetches here."""
    return Client(ca, SHORT)


def fetcher(root: Path, *, terms: Terms | None = None, ca: Path | None = None) -> Fetcher:
    """A fetcher with the store ``root``."""
    return Fetcher(
        store=Store(root),
        client=_client(ca),
        terms=terms or Terms(accepted_by="Tester"),
        retries=QUICK,
        window=0.15,
    )


def a_file(content: bytes, urls: Iterable[str], *, pinned: bool = True, size: int = 0) -> File:
    """A file with ``content``, at each of ``urls``."""
    return File(
        name="toolkit.run",
        origin="the tests",
        sha256=digest(content) if pinned else "",
        size=size,
        addresses=tuple(Address(url=url) for url in urls),
    )


def zipped(members: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> bytes:
    """A zip with ``members``."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def in_zip(content: bytes, archive: bytes, urls: Iterable[str]) -> File:
    """A file whose zip has a published hash, and itself has none."""
    addresses = tuple(Address(url=url) for url in urls)
    own = File(name="toolkit.zip", origin="", sha256=digest(archive), addresses=addresses)
    return File(name="toolkit.run", origin="the tests", zip=own)


def wrong_files(root: Path) -> list[str]:
    """Everything in the store ``root`` whose name is not the sha256 of its content."""
    return [str(p) for p in root.glob("sha256/*/*") if digest(p.read_bytes()) != p.name]
