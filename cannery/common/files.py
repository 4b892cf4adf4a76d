# SPDX-License-Identifier: Apache-2.0
"""Files: atomic writes, locks, temporary folders, hashes and the time of day."""

from __future__ import annotations

import errno
import glob
import hashlib
import io
import json
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cannery.common.errors import FileError, Problem, Span, file_error
from cannery.common.outside import parse_json

if TYPE_CHECKING:
    from filelock import FileLock


def now() -> str:
    """The time in UTC, as in ``2026-11-21T12:00:00Z``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_day(text: str) -> bool:
    """Whether ``text`` is a day of the calendar, as in ``2026-11-21``."""
    try:
        # Python reads other forms of a day, too.
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def day(text: str) -> str:
    """``text``, which must be a day; ValueError if it is none."""
    if not is_day(text):
        raise ValueError(f"{text!r} is not a day. Write it as in 2026-08-21.")
    return text


def days_between(first: str, last: str) -> int:
    """How many days ``last`` is after ``first``, each as in ``2026-11-21``."""
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


_ATTEMPTS = 20
"""How often a folder is made that other processes remove."""

LEFTOVER = ".cannery-new"
"""The end of the name of every file that is not in its place yet; a killed run leaves some."""

LEFTOVER_AGE = 3600
"""The age in seconds from which such a file is that of no run any more, on any machine."""


MOST_BYTES = 16 << 20
"""The most bytes of a file that is read as a whole; the largest lock has 0.05 MB."""


def open_file(path: Path) -> io.BufferedReader:
    """Open the regular file ``path`` for reading, without waiting for the writer of a pipe.

    Raises:
        FileError: it is a device, a pipe or a socket.
        OSError: it cannot be opened.
    """
    # A socket, and the device of a driver that is not there, cannot even be opened.
    with suppress(FileNotFoundError):
        _require_regular("read", path, path.stat())
    stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    try:
        _require_regular("read", path, os.fstat(stream.fileno()))
    except BaseException:
        stream.close()
        raise
    return stream


def _require_regular(action: str, path: Path, state: os.stat_result) -> None:
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(state.st_mode):
        what = f"cannot {action} {path}: it is a device, a pipe or a socket."
        raise FileError(Problem(what=what, fix="Name a regular file."))


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of the regular file ``path``; FileNotFoundError if there is nothing.

    Raises:
        FileError: it cannot be read, is not a regular file, is a link to nothing, or has more than
            ``most`` bytes.
    """
    try:
        with open_file(path) as stream:
            content = stream.read(most + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise _dangling("read", path) from None
        raise
    except OSError as error:
        raise file_error("read", path, error) from error
    if len(content) > most:
        what = f"cannot read {path}: it has more than {most >> 20} MB."
        raise FileError(Problem(what=what, fix="See where it is from."))
    return content


def _dangling(action: str, path: Path) -> FileError:
    target = os.path.realpath(path)
    what = f"cannot {action} {path}: it is a link to {target}, which does not exist."
    return FileError(Problem(what=what, fix="Make that file, or remove the link."))


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The UTF-8 text of ``path``, with its line ends; raises as ``read_bytes``, or FileError."""
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text: {error.reason}.") from error


@contextmanager
def exclusive(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock file ``path``; ``waiting`` is called before each further attempt to get it."""

    def is_cancelled() -> bool:
        if waiting:
            waiting()
        return False

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = file_lock(path)
        lock.acquire(blocking=True, cancel_check=is_cancelled)
    except OSError as error:
        raise file_error("write", path, error) from error
    try:
        yield
    finally:
        lock.release()


def file_lock(path: Path) -> FileLock:
    """The lock file ``path``, which stays; the kernel releases it when its process ends.

    Acquiring it raises ``filelock.Timeout`` if another process or thread holds it.
    """
    # Imported here, because the import takes 0.08 s of CPU.
    from filelock import FileLock

    return FileLock(path, blocking=False, preserve_lock_file=True)


def link_or_copy(source: Path, destination: Path) -> None:
    """Make ``destination`` a link to or a copy of the file ``source``, in one step.

    An existing link stays, because a new one changes the ctime of the file.
    """
    with suppress(FileNotFoundError):
        if os.path.samestat(source.stat(), destination.lstat()):
            return
    temporary = destination.with_name(f"{_leftover_prefix()}{os.urandom(8).hex()}{LEFTOVER}")
    try:
        try:
            os.link(source.resolve(), temporary)
        except OSError:  # on another disk
            shutil.copy2(source, temporary)
        _remove_leftovers(destination.parent)
        os.replace(temporary, destination)
    finally:
        temporary.unlink(missing_ok=True)


def put_files(files: Mapping[str, Path], folder: Path) -> None:
    """Link or copy ``files``, name to path, into ``folder``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, path in files.items():
            link_or_copy(path, folder / name)
    except OSError as error:
        raise file_error("write", folder, error) from error


def write_files(
    files: Mapping[Path, str],
    *,
    remove: Iterable[Path] = (),
    before: Mapping[Path, str | None] | None = None,
    root: Path | None = None,
) -> None:
    """Write every file, then delete those in ``remove``. A link stays, and its target is written.

    ``before`` has texts that the new ones were made from, and None for a file that did not exist.

    All new contents are on the disk before the first old file is replaced, so a disk that fills or
    a folder that cannot be written changes nothing. An executable file stays executable.

    Raises:
        FileError: a file cannot be written, or is not as in ``before`` any more; a link leads to
            nothing, or out of the folder ``root``.
    """
    staged: dict[Path, Path] = {}
    folders: list[Path] = []
    path = Path()
    try:
        for path, text in files.items():
            real = link_target(path, root)
            staged[real] = _stage(real, text, folders)
        _require_unchanged(before or {})
        for path, temporary in staged.items():
            os.replace(temporary, path)
        for path in remove:
            path.unlink(missing_ok=True)
            _remove_empty(path.parents)
    except BaseException as error:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)
        for folder in reversed(folders):
            _remove_empty([folder])
        if isinstance(error, OSError):
            raise file_error("write", path, error) from error
        raise


def link_target(path: Path, root: Path | None = None) -> Path:
    """The file to replace in order to write ``path``: another one if this is a link.

    Raises:
        FileError: it is a device, a pipe or a socket; it is a link to nothing, or to a file that
            is not below ``root``.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        _require_regular("write", path, path.stat())
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if not target.exists():
        raise _dangling("write", path)
    if root and not target.is_relative_to(root.resolve()):
        what = f"cannot write {path}: it is a link to {target}, which is not below {root}."
        raise FileError(Problem(what=what, fix="Put a copy in the place of the link."))
    return target


def _require_unchanged(before: Mapping[Path, str | None]) -> None:
    for path, text in before.items():
        if (read_text(path) if path.exists() else None) != text:
            what = f"{path} was changed by another process meanwhile, so nothing was written."
            raise FileError(Problem(what=what, fix="Run the command again."))


def _stage(path: Path, text: str, folders: list[Path]) -> Path:
    """Write ``text`` beside ``path``; missing folders are made and added to ``folders``."""
    for attempt in range(_ATTEMPTS):
        folders += [folder for folder in path.parents[::-1] if not folder.exists()]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # os.replace would fail only after other files have been replaced. Of a name that is too
            # long, this raises OSError.
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            handle, name = tempfile.mkstemp(LEFTOVER, _leftover_prefix(), path.parent)
            break
        except (FileNotFoundError, FileExistsError):
            # Another run has removed the folder, which was empty.
            if attempt == _ATTEMPTS - 1:
                raise
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
            os.fchmod(stream.fileno(), 0o755 if text.startswith("#!") else 0o644)
        _remove_leftovers(path.parent)
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


def _leftover_prefix() -> str:
    return f".{own_mark()}:"


def _remove_leftovers(folder: Path) -> None:
    """Remove from ``folder``, in which a file has just been made, files of killed runs."""
    now = folder.stat().st_mtime
    for path in folder.glob(f".*{LEFTOVER}"):
        with suppress(OSError):
            # The time of a link's last change is that of another file.
            old = now - path.lstat().st_ctime > LEFTOVER_AGE
            if old or is_gone(path.name.removeprefix(".").rpartition(":")[0]):
                path.unlink()


def _remove_empty(folders: Iterable[Path]) -> None:
    """Remove ``folders``, innermost first, up to the first that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


_MAKING = ".making-"


def _place() -> str:
    """The machine and its namespace of process ids, which a container has of its own."""
    with suppress(OSError):
        return f"{socket.gethostname()}-{Path('/proc/self/ns/pid').stat().st_ino}"
    return socket.gethostname()


def _started(process: int) -> str:
    """The start time of ``process`` in the kernel's unit; empty if it has ended."""
    with suppress(OSError):
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        # The program's name may have spaces and brackets; the time is the 20th field after it.
        return text.rpartition(")")[2].split()[19]
    return ""


def own_mark() -> str:
    """A unique mark of this process: where its id is valid, the id and its start time."""
    return f"{_place()}:{os.getpid()}:{_started(os.getpid())}"


def is_gone(mark: str) -> bool:
    """Whether ``mark`` belongs to a process that would be visible here, and has ended."""
    place, process, started = ["", "", *mark.rsplit(":", 2)][-3:]
    known = place == _place() and process.isdigit() and bool(started)
    return known and _started(int(process)) != started


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A temporary folder in ``parent``, where those of killed runs are removed.

    Raises:
        OSError: it cannot be made.
    """
    parent.mkdir(parents=True, exist_ok=True)
    for path in parent.glob(f"{_MAKING}*"):
        if is_gone(path.name.removeprefix(_MAKING).rpartition(":")[0]):
            shutil.rmtree(path, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_MAKING}{own_mark()}:", dir=parent) as name:
        yield Path(name)


def temporary_beside(path: Path) -> Path:
    """A hidden path beside ``path``, for its replacement; those of killed runs are removed.

    Raises:
        OSError: one of them cannot be removed.
    """
    prefix = f".{path.name}."
    for other in path.parent.glob(f"{glob.escape(prefix)}*"):
        if is_gone(other.name.removeprefix(prefix)):
            other.unlink(missing_ok=True)
    return path.with_name(prefix + own_mark())


MOST_JSON = 1 << 28
"""The most bytes of a JSON document; the SBOM of an image with all its files has tens of MB."""


def read_json(content: bytes, name: str) -> Any:
    """The JSON document ``content`` of a file called ``name``."""
    try:
        return parse_json(content.decode("utf-8-sig"), most=MOST_JSON)
    except UnicodeDecodeError as error:
        raise FileError(f"{name} is not UTF-8 text: {error.reason}.") from error
    except json.JSONDecodeError as error:
        where = Span(file=name, line=error.lineno, column=error.colno)
        message = error.msg[0].lower() + error.msg[1:]
        raise FileError(Problem(what=f"the file is not JSON: {message}.", where=where)) from error
    except ValueError as error:
        raise FileError(f"{name} is not valid: {error}.") from error


_LARGE = 1 << 24
"""The size in bytes from which a stored hash saves time."""


def sha256_of(path: Path) -> str:
    """The sha256 of ``path``, always computed."""
    with open_file(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Hashes:
    """The hashes of files, stored in ``path`` with the size, times and inode of each file.

    Programs can set the date of a file back, but not the time of its last change (ctime). The user
    may delete ``path`` at any time; it is ignored if it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changed = False
        self._stored: dict[str, tuple[str, str]] = {}
        with suppress(FileNotFoundError, FileError, ValueError, TypeError, AttributeError):
            stored = json.loads(read_text(path)).items()
            self._stored = {name: (str(state), str(digest)) for name, (state, digest) in stored}

    def sha256(self, path: Path) -> str:
        """The sha256 of ``path``.

        Raises:
            OSError: the file cannot be read.
        """
        stat = path.stat()
        if stat.st_size < _LARGE:
            return sha256_of(path)
        state = f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}"
        name = str(path.resolve())
        stored, digest = self._stored.get(name, ("", ""))
        if stored != state:
            digest = sha256_of(path)
            self._stored[name] = (state, digest)
            self._changed = True
        return digest

    def keep(self) -> None:
        """Store new hashes. If that fails, the next run computes them again."""
        if self._changed:
            stored = {name: known for name, known in self._stored.items() if Path(name).is_file()}
            with suppress(FileError):
                write_files({self._path: json.dumps(stored, indent=1, sort_keys=True) + "\n"})
                self._changed = False


class Pieces(io.RawIOBase):
    """A file that can be read once, of what an iterable gives."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size
