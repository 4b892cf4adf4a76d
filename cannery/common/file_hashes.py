# SPDX-License-Identifier: Apache-2.0
"""The sha256 of large files, stored so that it is computed once for each file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from cannery.common.errors import FileError
from cannery.common.files import read_text, write_files

_WORTH_KEEPING = 1 << 24
"""The size in bytes from which a stored hash saves time."""


def sha256_of(path: Path) -> str:
    """The sha256 of ``path``, always computed.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Hashes:
    """The hashes of files, stored in ``path`` with the size, times and inode of each file.

    Programs can set the date of a file back, but not the time of its last change (ctime).

    The user may delete ``path`` at any time. It is ignored if it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _read(path)
        self._changed = False

    def sha256(self, path: Path) -> str:
        """The sha256 of ``path``.

        Raises:
            OSError: the file cannot be read.
        """
        stat = path.stat()
        if stat.st_size < _WORTH_KEEPING:
            return sha256_of(path)
        state = f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}"
        name = str(path.resolve())
        known, digest = self._known.get(name, ("", ""))
        if known != state:
            digest = sha256_of(path)
            self._known[name] = (state, digest)
            self._changed = True
        return digest

    def keep(self) -> None:
        """Store new hashes. If that fails, the next run computes them again."""
        if not self._changed:
            return
        here = {name: each for name, each in self._known.items() if Path(name).is_file()}
        try:
            write_files({self._path: json.dumps(here, indent=1, sort_keys=True) + "\n"})
        except FileError:
            return
        self._changed = False


def _read(path: Path) -> dict[str, tuple[str, str]]:
    try:
        loaded = json.loads(read_text(path))
        return {str(name): (str(state), str(digest)) for name, (state, digest) in loaded.items()}
    except (FileNotFoundError, FileError, ValueError, TypeError, AttributeError):
        return {}
