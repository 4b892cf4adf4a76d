# SPDX-License-Identifier: Apache-2.0
"""The store of fetched files by their sha256, which several checkouts share.

A file appears under its final name after its sha256 has been verified, and never before:

    sha256/ab/abcd...    the files, read-only
    records/abcd....json name, address and licence of each
    opened/abcd....json  what was in the zip with this sha256
    partial/KEY          unfinished downloads, with KEY.json on how to go on, and KEY.lock
    contexts/            folders of links to files, as build contexts, with NAME.lock of each
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cannery.common.bases import File
from cannery.common.errors import FileError, file_error
from cannery.common.files import exclusive, put_files, read_text, sha256_of, try_lock, write_files

_POLL = 0.1
"""Seconds between two looks whether another process has ended its fetch."""

_DAY = 86_400

_in_use: dict[Path, int] = {}
"""The open locks of the folders that this process has exposed; the kernel closes them."""


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


def store_folder(option: Path | None, settings: Path | None, environ: Mapping[str, str]) -> Path:
    """The folder of the store: as given, else that of cannery.toml, else the user's cache."""
    if named := environ.get("CANNERY_CACHE"):
        settings = Path(named)
    base = environ.get("XDG_CACHE_HOME", "")
    cache = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    return (option or settings or cache / "cannery").absolute()


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
        """The sha256 of ``file``: as published, or as it was in the zip that was published."""
        if file.sha256 or not file.zip:
            return file.sha256
        return self._opened(file.zip.sha256).get(file.name, "")

    def holds(self, file: File) -> bool:
        """Whether ``file`` can be had without a network."""
        sha256 = self.known(file)
        return bool(sha256) and self.has(sha256)

    def _opened(self, sha256: str) -> dict[str, str]:
        try:
            loaded = json.loads(read_text(self.root / "opened" / f"{sha256}.json"))
            return {str(name): str(digest) for name, digest in loaded.items()}
        except (FileNotFoundError, FileError, ValueError, AttributeError):
            return {}

    def note_opened(self, archive: str, name: str, sha256: str) -> None:
        """Remember that the zip with the sha256 ``archive`` has ``name`` with ``sha256``."""
        _write(self.root / "opened" / f"{archive}.json", {**self._opened(archive), name: sha256})

    def partial(self, key: str) -> Path:
        """The unfinished download of ``key``."""
        return self.root / "partial" / key

    @contextmanager
    def locked(self, key: str, waiting: Callable[[], None]) -> Iterator[None]:
        """Keep other fetches of ``key`` out; ``waiting`` is called while one of them goes on."""

        def wait() -> None:
            waiting()
            time.sleep(_POLL)

        with exclusive(self.root / "partial" / f"{key}.lock", wait):
            yield

    def admit(self, partial: Path, sha256: str, record: Origin) -> Path:
        """Move ``partial``, whose sha256 was verified, under its final name."""
        path = self.path(sha256)
        try:
            _write(self._record(sha256), asdict(record))
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(partial, os.O_RDONLY)
            try:
                os.fsync(handle)
                os.fchmod(handle, 0o444)
            finally:
                os.close(handle)
            os.replace(partial, path)
            _sync_folder(path.parent)
            notes_of(partial).unlink(missing_ok=True)
        except OSError as error:
            raise file_error("write", path, error) from error
        return path

    def _record(self, sha256: str) -> Path:
        return self.root / "records" / f"{sha256}.json"

    def record(self, sha256: str) -> Origin | None:
        """What is known of a file; None if its record is missing or damaged."""
        try:
            loaded = json.loads(read_text(self._record(sha256)))
            loaded.pop("signature", None)  # of records that earlier versions have written
            return Origin(**loaded)
        except (FileNotFoundError, FileError, ValueError, TypeError, AttributeError):
            return None

    def files(self) -> list[Stored]:
        """Every stored file, by name.

        Raises:
            FileError: the store cannot be read.
        """
        try:
            found = [self._stored(path) for path in self.root.glob("sha256/??/*")]
        except OSError as error:
            raise file_error("read", self.root, error) from error
        return sorted(
            found, key=lambda each: (each.record.name if each.record else "", each.sha256)
        )

    def _stored(self, path: Path) -> Stored:
        record, stat = self._record(path.name), path.stat()
        used = (record if record.exists() else path).stat().st_mtime
        return Stored(
            sha256=path.name,
            path=path,
            size=stat.st_size,
            days=max(0.0, (time.time() - used) / _DAY),
            record=self.record(path.name),
        )

    def prune(self, days: float) -> list[Stored]:
        """Remove files and unfinished downloads that nobody used for ``days``; return the files."""
        gone = [each for each in self.files() if each.days >= days]
        try:
            for each in gone:
                each.path.unlink(missing_ok=True)
                self._record(each.sha256).unlink(missing_ok=True)
            self._prune_contexts()
            self._prune_partial(days)
        except OSError as error:
            raise file_error("write", self.root, error) from error
        return gone

    def _prune_contexts(self) -> None:
        """Remove the folders that no build uses: their links keep the space of removed files."""
        for folder in [path for path in self.root.glob("contexts/*") if path.is_dir()]:
            handle = os.open(_lock_of(folder), os.O_RDWR | os.O_CREAT, 0o644)
            try:
                if try_lock(handle):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)

    def _prune_partial(self, days: float) -> None:
        for lock in self.root.glob("partial/*.lock"):
            with lock.open("rb") as stream:
                files = [*lock.parent.glob(f"{lock.stem}*")]
                age = time.time() - max(each.stat().st_mtime for each in files)
                # The lock itself stays: another process may have opened it already.
                if age >= days * _DAY and try_lock(stream.fileno()):
                    for path in files:
                        if path != lock:
                            path.unlink(missing_ok=True)

    def expose(self, files: Mapping[str, Path], name: str) -> Path:
        """A folder ``name`` in which every name of ``files`` is a link to, or a copy of, its path.

        It stays at least until this process ends.
        """
        folder = self.root / "contexts" / name
        _use(folder)
        put_files(files, folder)
        return folder


def _use(folder: Path) -> None:
    """Keep ``prune`` from removing ``folder`` until this process ends; several may use it."""
    lock = _lock_of(folder)
    if lock in _in_use:
        return
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(handle, fcntl.LOCK_SH)
    except OSError as error:
        raise file_error("write", lock, error) from error
    _in_use[lock] = handle


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _write(path: Path, content: Mapping[str, object]) -> None:
    """Write ``content`` as JSON."""
    try:
        # Another process may make the folder at the same time.
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise file_error("write", path, error) from error
    write_files({path: json.dumps(content, indent=1) + "\n"})


def notes_of(partial: Path) -> Path:
    """The file on how to go on with the unfinished download ``partial``."""
    return partial.with_name(f"{partial.name}.json")


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
