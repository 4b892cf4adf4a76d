# SPDX-License-Identifier: Apache-2.0
"""The build context that all Dockerfiles share: programs of the build stage, and the guard."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cannery.common.errors import file_error
from cannery.matrix.project import Project

_LIST = ".dockerignore"
"""Names the files that the engine gets, each after a '!', and with its '*' no others."""


def context_names(project: Project) -> tuple[str, ...]:
    """The files of the build context that all Dockerfiles share, and their list.

    Raises:
        FileError: the list cannot be read.
    """
    lines = _read(project.build_context / _LIST).splitlines()
    return (_LIST, *(line.removeprefix("!") for line in lines if line.startswith("!")))


def read_context(project: Project) -> dict[str, str]:
    """Name to content, as ``with_mode`` gives it, of every file of the shared build context.

    Raises:
        FileError: one of them cannot be read.
    """
    return {name: _read(project.build_context / name) for name in context_names(project)}


def with_mode(text: str, *, executable: bool) -> str:
    """The content of a file for a content key: the engine gets its mode, too."""
    return f"\0executable\0{text}" if executable else text


def _read(path: Path) -> str:
    # The doctor is a zip archive; git's files are decoded in the same way.
    try:
        with path.open("rb") as stream:
            executable = bool(os.fstat(stream.fileno()).st_mode & stat.S_IXUSR)
            text = stream.read().decode(errors="surrogateescape")
    except OSError as error:
        raise file_error("read", path, error) from error
    return with_mode(text, executable=executable)
