# SPDX-License-Identifier: Apache-2.0
"""The store of fetched files by their sha256, which several checkouts share.

A file appears under its final name after its sha256 has been verified, and never before:

    sha256/ab/abcd...    the files, read-only
    records/abcd....json name, address and licence of each
    opened/abcd....json  what was in the zip with this sha256
    partial/KEY          unfinished downloads, with KEY.json on how to go on, and KEY.lock
    contexts/            folders of links to files, as build contexts, and locks of their users
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cannery.common.bases import File
from cannery.common.errors import FileError, file_error
from cannery.common.files import exclusive, file_lock, put_files, read_text, sha256_of, write_files

if TYPE_CHECKING:
    from filelock import FileLock

_DAY = 86_400

_in_use: dict[Path, FileLock] = {}
"""The locks of the folders that this process has exposed, which it holds until it ends."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a stored file came from, as UTC times and plain text.

    ``accepted_by`` is who accepted the licence ``eula``.
    """

    name: str
    url: str
    fetched: str
    eula: str = ""
    accepted_by: str = ""
    first_use: bool = False


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A file of the store. ``days`` is since when nobody used it."""

    sha256: str
    path: Path
    size: int
    days: float
    record: Origin | None


def store_folder(option: Path | None, environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the store: as given, else in the user's cache."""
    base = environ.get("XDG_CACHE_HOME", "")
    cache = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    return (option or cache / "cannery").absolute()


@dataclass(frozen=True)
class Store:
    """The store in the folder ``root``."""

    root: Path
    hash_of: Callable[[Path], str] = field(default=sha256_of, compare=False)

    def path(self, sha256: str) -> Path:
        return self.root / "sha256" / sha256[:2] / sha256

    def has(self, sha256: str) -> bool:
        """Whether the file is there, unchanged; a file that was changed in place is removed."""
        path = self.path(sha256)
        try:
            if not path.is_file():
                return False
            if self.hash_of(path) == sha256:
                with suppress(OSError):  # of a store that others own
                    os.utime(self._record(sha256))
                return True
            path.unlink()
        except OSError as error:
            raise file_error("read", path, error) from error
        return False

    def known(self, file: File) -> str:
        """The sha256 of ``file``: as published, or as it was in the zip that was published.

        Of several it is that of the file that is here.
        """
        if file.hashes:
            return file.sha256 or next(filter(self.has, file.hashes), "")
        opened = (self._opened(each) for each in (file.zip.hashes if file.zip else ()))
        return next((each[file.name] for each in opened if file.name in each), "")

    def holds(self, file: File) -> bool:
        """Whether ``file`` can be had without a network."""
        sha256 = self.known(file)
        return bool(sha256) and self.has(sha256)

    def _opened(self, sha256: str) -> dict[str, str]:
        with suppress(FileNotFoundError, FileError, ValueError, AttributeError):
            loaded = json.loads(read_text(self.root / "opened" / f"{sha256}.json"))
            return {str(name): str(digest) for name, digest in loaded.items()}
        return {}

    def note_opened(self, archive: str, name: str, sha256: str) -> None:
        """Remember that the zip with the sha256 ``archive`` has ``name`` with ``sha256``."""
        _write(self.root / "opened" / f"{archive}.json", {**self._opened(archive), name: sha256})

    def partial(self, key: str) -> Path:
        """The unfinished download of ``key``."""
        return self.root / "partial" / key

    def locked(self, key: str, waiting: Callable[[], None]) -> AbstractContextManager[None]:
        """Keep other fetches of ``key`` out; ``waiting`` is called while one of them goes on."""
        return exclusive(self.root / "partial" / f"{key}.lock", waiting)

    def admit(self, partial: Path, sha256: str, record: Origin) -> Path:
        """Move ``partial``, whose sha256 was verified, under its final name."""
        path = self.path(sha256)
        try:
            _write(self._record(sha256), asdict(record))
            path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("rb") as stream:
                os.fsync(stream.fileno())
                os.fchmod(stream.fileno(), 0o444)
            os.replace(partial, path)
            handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            notes_of(partial).unlink(missing_ok=True)
        except OSError as error:
            raise file_error("write", path, error) from error
        return path

    def _record(self, sha256: str) -> Path:
        return self.root / "records" / f"{sha256}.json"

    def record(self, sha256: str) -> Origin | None:
        """What is known of a file; None if its record is missing or damaged."""
        with suppress(FileNotFoundError, FileError, ValueError, TypeError, AttributeError):
            loaded = json.loads(read_text(self._record(sha256)))
            loaded.pop("signature", None)  # of records that earlier versions have written
            return Origin(**loaded)
        return None

    def remove(self, sha256: str) -> None:
        """Remove a file, with its record."""
        try:
            self.path(sha256).unlink(missing_ok=True)
            self._record(sha256).unlink(missing_ok=True)
        except OSError as error:
            raise file_error("write", self.path(sha256), error) from error

    def files(self) -> list[Stored]:
        """Every stored file, by name.

        Raises:
            FileError: the store cannot be read.
        """
        files = []
        try:
            for path in self.root.glob("sha256/??/*"):
                record, size = self._record(path.name), path.stat().st_size
                used = (record if record.exists() else path).stat().st_mtime
                days, origin = max(0.0, (time.time() - used) / _DAY), self.record(path.name)
                files.append(
                    Stored(sha256=path.name, path=path, size=size, days=days, record=origin)
                )
        except OSError as error:
            raise file_error("read", self.root, error) from error
        return sorted(files, key=lambda file: (file.record.name if file.record else "", file.path))

    def prune(self, days: float) -> list[Stored]:
        """Remove files and unfinished downloads that nobody used for ``days``; return the files."""
        gone = [file for file in self.files() if file.days >= days]
        try:
            for file in gone:
                self.remove(file.sha256)
            self._prune_contexts()
            self._prune_partial(days)
        except OSError as error:
            raise file_error("write", self.root, error) from error
        return gone

    def _prune_contexts(self) -> None:
        """Remove the folders that no build uses: their links keep the space of removed files."""
        from filelock import Timeout

        contexts = self.root / "contexts"
        with exclusive(contexts / "lock"):
            for folder in [path for path in contexts.iterdir() if path.is_dir()]:
                users = [*contexts.glob(f"{folder.name}.*.lock")]
                with suppress(Timeout), ExitStack() as locks:
                    for path in users:
                        locks.enter_context(file_lock(path))
                    shutil.rmtree(folder, ignore_errors=True)
                    for path in users:
                        path.unlink()

    def _prune_partial(self, days: float) -> None:
        from filelock import Timeout

        for lock in self.root.glob("partial/*.lock"):
            files = [*lock.parent.glob(f"{lock.stem}*")]
            if time.time() - max(path.stat().st_mtime for path in files) >= days * _DAY:
                # The lock itself stays: another process may have opened it already.
                with suppress(Timeout), file_lock(lock):
                    for path in files:
                        if path != lock:
                            path.unlink(missing_ok=True)

    def expose(self, files: Mapping[str, Path], name: str) -> Path:
        """A folder ``name`` in which every name of ``files`` is a link to, or a copy of, its path.

        It stays at least until this process ends.
        """
        folder = self.root / "contexts" / name
        path = folder.with_name(f"{name}.{os.getpid()}.lock")
        with exclusive(folder.with_name("lock")):
            if path not in _in_use:
                _in_use[path] = file_lock(path)
                _in_use[path].acquire()
            put_files(files, folder)
        return folder


def _write(path: Path, content: Mapping[str, object]) -> None:
    """Write ``content`` as JSON."""
    try:
        # Another process may make the folder at the same time.
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise file_error("write", path, error) from error
    write_files({path: json.dumps(content, indent=1) + "\n"}, root=path.parent)


def notes_of(partial: Path) -> Path:
    """The file on how to go on with the unfinished download ``partial``."""
    return partial.with_name(f"{partial.name}.json")
