# SPDX-License-Identifier: Apache-2.0
"""Reads the C++ ABI of torch and MindSpore from their wheels in the package index.

Only the list of a wheel's files and one library are transferred, by requests for ranges.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from packaging.version import Version

from cannery.common import console
from cannery.common.bases import Address
from cannery.common.cxx_abi import FRAMEWORKS, Framework, cxx_abi
from cannery.common.errors import MatrixError, Problem
from cannery.common.http import origin
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.fetch.http import Client, TransferError
from cannery.lock.lock_file import LockedFile, LockedWheel

_BLOCK = 1 << 20
"""How many bytes are asked for at a time; lists of files have about as many."""

_MOST = 1 << 29
"""The size of the largest library that is read; that of MindSpore 2.0.0 has 129 MB."""


class WheelAbis:
    """The ABIs of wheels that are locked; each wheel is read once."""

    def __init__(self, source: PackageIndex) -> None:
        self._source = source
        self._known: dict[LockedFile, int] = {}

    def check(self, target: Target, wheel: LockedWheel, url: str) -> None:
        """Compare a framework's wheel, which the package index has at ``url``, with ``target``.

        If it cannot be read, that is said.

        Raises:
            MatrixError: it has another ABI than ``target.cxx_abi``, or none is known.
        """
        [file] = wheel.files
        try:
            if file not in self._known:
                console.say(f"reading the C++ ABI of {file.name}")
                self._known[file] = self._read(url, FRAMEWORKS[wheel.name])
        except (ValueError, TransferError, OSError) as error:
            what = f"the C++ ABI of {file.name} could not be read: {error}."
            if target.cxx_abi is None:
                fix = "Find it out where the wheel is installed, and add a row of cxx_abi for it."
                raise MatrixError(Problem(what=what, fix=fix, where=target.span)) from error
            console.say(f"{target.id}: {what} By compat.yaml it is {target.cxx_abi}.")
            return
        abi = self._known[file]
        if abi == target.cxx_abi:
            return
        condition = f"with: {wheel.name}=={wheel.version}"
        if wheel.name == "torch":
            condition = f'torch: "=={Version(wheel.version).public}"'
        row = f"{{{condition}, machine: {target.machine}, abi: {abi}, source: ...}}"
        rows = "has no row for it" if target.cxx_abi is None else f"says {target.cxx_abi}"
        what = f"the C++ ABI of {file.name}, with which NNAL is chosen, is {abi}, and compat.yaml"
        fix = f"Write among its rows of cxx_abi: {row}"
        raise MatrixError(Problem(what=f"{what} {rows}.", fix=fix, where=target.span))

    def _read(self, url: str, framework: Framework) -> int:
        """The ABI of the wheel at ``url``.

        Raises:
            TransferError: the server does not give it, or no parts of it.
            ValueError: it has no such library, or one that does not tell; the message says so.
        """
        if not url:
            raise ValueError("the package index does not say where it is")
        try:
            with self._opened(url) as file, zipfile.ZipFile(file) as wheel:
                if wheel.getinfo(framework.library).file_size > _MOST:
                    raise ValueError(f"its {framework.library} is too large")
                abi = cxx_abi(wheel.read(framework.library), framework.namespace)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:
            raise ValueError(f"it is damaged ({error})") from error
        except KeyError as error:
            raise ValueError(f"it has no {framework.library}") from error
        if abi is None:
            raise ValueError(f"the names in its {framework.library} are of both ABIs or of none")
        return abi

    def _opened(self, url: str) -> BinaryIO:
        """The file at ``url``, which may be one of this machine, as of pip's find-links."""
        index, parts = self._source.index_url, urlsplit(url)
        if parts.scheme == "file":
            return Path(unquote(parts.path)).open("rb")
        login = urlsplit(index).netloc.rpartition("@")[0]
        if login and origin(index) == origin(url) and "@" not in parts.netloc:
            url = url.replace("://", f"://{login}@", 1)
        distant = _Distant(Client(self._source.ca), Address(url=url))
        return io.BufferedReader(distant, _BLOCK)


class _Distant(io.RawIOBase):
    """A file on a server, of which only what is asked for is read."""

    def __init__(self, client: Client, address: Address) -> None:
        self._client, self._address, self._at = client, address, 0
        with client.get(address) as answer:
            self._size = answer.total

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(start + offset, 0)
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        wanted = min(len(buffer), max(self._size - self._at, 0))
        done = 0
        if wanted:
            with self._client.get(self._address, self._at) as answer:
                if answer.offset != self._at:
                    raise TransferError("its server sends whole files only", final=True)
                for chunk in answer.chunks(min(wanted, 1 << 16)):
                    part = chunk[: wanted - done]
                    buffer[done : done + len(part)] = part
                    done += len(part)
                    if done == wanted:
                        break
        self._at += done
        return done
