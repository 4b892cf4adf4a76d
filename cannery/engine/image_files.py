# SPDX-License-Identifier: Apache-2.0
"""Reads files of an image, without running it."""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import docker.errors
from docker.models.containers import Container

from cannery.common.errors import EngineError
from cannery.common.streams import Pieces


@dataclass(frozen=True)
class ImageFiles:
    """The files of a container that was not started."""

    container: Container

    def files(self, path: str, selects: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """The path relative to ``path`` and the content of each file that ``selects`` accepts."""
        try:
            chunks, _ = self.container.get_archive(path)
        except docker.errors.NotFound:
            return
        try:
            with tarfile.open(fileobj=io.BufferedReader(Pieces(chunks)), mode="r|") as archive:
                for member in archive:
                    name = posixpath.normpath(member.name)
                    if not member.isfile() or not selects(name):
                        continue
                    if opened := archive.extractfile(member):
                        yield name, opened.read()
        except tarfile.TarError as error:
            what = f"the engine's archive of {path} is incomplete: {error}."
            raise EngineError(what) from error
        # Read to the end, or the connection would stay in use.
        for _ in chunks:
            pass

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder ``path``."""
        try:
            chunks, _ = self.container.get_archive(path)
        except docker.errors.NotFound:
            return False
        for _ in chunks:
            pass
        return True

    def contains(self, path: str, wanted: bytes) -> bool:
        """Whether ``wanted`` is in the file ``path``, which may be a link."""
        try:
            chunks, about = self.container.get_archive(path)
        except docker.errors.NotFound:
            return False
        target = (about or {}).get("linkTarget")
        before, found = b"", False
        # Headers of the archive in between do not matter: names do not contain it.
        for chunk in chunks:
            found = found or wanted in before + chunk
            before = chunk[-len(wanted) :]
        return self.contains(target, wanted) if target and target != path else found

    def text(self, path: str) -> str:
        """The text of one file; empty if there is none."""
        contents = dict(self.files(path, lambda _: True)).values()
        return b"".join(contents).decode("utf-8", errors="replace")
