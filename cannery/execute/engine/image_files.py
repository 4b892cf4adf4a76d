# SPDX-License-Identifier: Apache-2.0
"""Reads files of an image, without running anything of it."""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import docker.errors
from docker.models.containers import Container

from cannery.errors import EngineError
from cannery.execute.streams import Pieces


@dataclass(frozen=True)
class ImageFiles:
    """The files of a container that does not run."""

    container: Container

    def files(self, path: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Path below ``path`` and content of the files there that are ``wanted``, by that path."""
        try:
            chunks, _ = self.container.get_archive(path)
        except docker.errors.NotFound:
            return
        try:
            with tarfile.open(fileobj=io.BufferedReader(Pieces(chunks)), mode="r|") as archive:
                for member in archive:
                    name = posixpath.normpath(member.name)
                    if member.isfile() and wanted(name) and (opened := archive.extractfile(member)):
                        yield name, opened.read()
        except tarfile.TarError as error:
            raise EngineError(f"the engine did not hand out {path} whole: {error}.") from error
        # What follows the end of an archive, or the connection would stay in use.
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

    def text(self, path: str) -> str:
        """The text of one file; empty where there is none."""
        inventory = dict(self.files(path, lambda _: True)).values()
        return b"".join(inventory).decode("utf-8", errors="replace")
