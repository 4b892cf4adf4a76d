# SPDX-License-Identifier: Apache-2.0
"""Asks the engine for several local images at once.

This uses docker's command line, because importing the SDK takes longer than a run in which
everything is up to date.
"""

from __future__ import annotations

import io
import json
import posixpath
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import docker.errors
from docker.models.containers import Container

from cannery.common.archives import Pieces
from cannery.common.errors import EngineError
from cannery.common.process import run
from cannery.engine.unreachable import unreachable


@dataclass(frozen=True, kw_only=True)
class LocalImage:
    """An image of the local engine; ``architecture`` is as the engine names it."""

    id: str
    architecture: str
    labels: Mapping[str, str]


Images = Mapping[str, LocalImage]
"""Reference to image, for the images that exist."""


def local_images(references: Iterable[str]) -> Images:
    """The local images among ``references``.

    Raises:
        EngineError: the engine does not answer, or rejects one of the names.
    """
    names = [*dict.fromkeys(references)]
    if not names:
        return {}
    argv = ["docker", "image", "inspect", "--format", "{{json .}}", *names]
    code, said = run(argv, capture=True)
    lines = said.splitlines()
    found = [line for line in lines if line.startswith("{")]
    # docker ends with 1 for a missing image and for a missing engine; only its text differs.
    absent = [line for line in lines if "No such image: " in line]
    if len(found) + len(absent) < len(names) or (code and not absent):
        raise unreachable("\n".join(line for line in lines if line not in found))
    missing = {line.partition("No such image: ")[2] for line in absent}
    here = [name for name in names if name not in missing]
    return dict(zip(here, map(_image, found), strict=True))


def _image(line: str) -> LocalImage:
    loaded = json.loads(line)
    labels = (loaded.get("Config") or {}).get("Labels") or {}
    return LocalImage(id=loaded["Id"], architecture=loaded["Architecture"], labels=labels)


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
