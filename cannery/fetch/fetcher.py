# SPDX-License-Identifier: Apache-2.0
"""Fetches files into the store: from one server after the other, until the hash is right."""

from __future__ import annotations

import errno
import functools
import hashlib
import shutil
import tempfile
import time
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from urllib.parse import quote

from rich import progress
from rich.progress import Progress

from cannery.common import console
from cannery.common.bases import Address, File
from cannery.common.errors import ArtifactError, Problem
from cannery.common.files import now, sha256_of
from cannery.common.http import RetryPolicy, is_safe, public
from cannery.common.process import Stopped
from cannery.fetch.apt import AptRepository, is_in_apt, run_of
from cannery.fetch.contents import LONGEST_PAGE, page_in
from cannery.fetch.http import Client, TransferError
from cannery.fetch.needs import Lacks
from cannery.fetch.run_file import wrong_package
from cannery.fetch.store import Origin, Store, notes_of
from cannery.fetch.transfer import Transfer, disk_error

_LARGEST = 1 << 36
"""The most bytes that a member of a zip may have when it is unpacked: 64 GiB."""

_RATIO = 1100
"""More than deflate can compress (zlib.net, technical details): a member that claims more lies."""

_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError),
    *(KeyError, OverflowError),
)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the user has agreed to.

    ``accepted_by`` is who accepts the vendor's licence, empty for nobody. ``first_use`` says that
    a file without a published hash is trusted once.
    """

    accepted_by: str = ""
    first_use: bool = False
    apt: bool = False
    """Whether packages are taken from the vendor's repository, whose index has hashes."""

    def has_hash(self, file: File) -> bool:
        """Whether a hash of ``file`` is published."""
        return file.has_hash or (self.apt and is_in_apt(file))

    def against(self, file: File) -> list[Problem]:
        """Why ``file`` may not be downloaded."""
        problems: list[Problem] = []
        if file.eula and not self.accepted_by:
            what = f"{file.name} is downloaded only after its licence was accepted: {file.eula}"
            fix = "Read it, then add --accept-eula NAME with the name of who accepts it."
            problems.append(Lacks(what=what, fix=fix))
        if not (self.has_hash(file) or self.first_use):
            what = f"nobody publishes a sha256 of {file.name}, so a download cannot be verified."
            fix = "Add --trust-first-use to write the hash of the first download down for review."
            if is_in_apt(file):
                what = f"the servers have no sha256 of {file.name} to verify a download with."
                fix = "Take it by --source apt, from Huawei's signed repository (docs/cann.md)."
            problems.append(Lacks(what=what, fix=f"{fix} Or get it from: {file.origin}."))
        return problems


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A file in the store. ``first_use`` says that its hash was taken from the download."""

    file: File
    path: Path
    sha256: str
    first_use: bool = False


@dataclass(kw_only=True)
class Fetcher:
    """Fetches files into ``store``. ``servers`` have files under their names alone."""

    store: Store
    client: Client
    terms: Terms
    servers: Sequence[Address] = ()
    apt: AptRepository | None = None
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    window: float = 60.0
    bars: Progress = field(default_factory=lambda: Progress(disable=True))
    stop: Event = field(default_factory=Event)

    def fetch(self, file: File) -> Fetched:
        """The file in the store; it is downloaded if it is not there.

        Raises:
            ArtifactError: no server delivers the right file, its licence was not accepted, or
                nobody publishes its hash.
            FileError: the store cannot be written.
        """
        if stored := self._stored(file):
            return stored
        if problems := self.terms.against(file):
            raise ArtifactError(problems)
        if self.apt and is_in_apt(file):
            return self._from_apt(self.apt, file)
        archive = file.zip.sha256 if file.zip else ""
        key = self.store.known(file) or archive or hashlib.sha256(file.name.encode()).hexdigest()
        is_told = Event()

        def waiting() -> None:
            if self.stop.is_set():
                raise Stopped
            if not is_told.is_set():
                console.say(f"{file.name} is being fetched by another process; waiting for it")
                is_told.set()

        with self.store.locked(key, waiting):
            if stored := self._stored(file):
                return stored
            begun = time.monotonic()
            fetched = self._fetched(file, key)
            took, size = time.monotonic() - begun, fetched.path.stat().st_size
            console.say(f"fetched {file.name}: {size / 1e6:,.1f} MB in {took:.1f} s")
            return fetched

    def _from_apt(self, repository: AptRepository, file: File) -> Fetched:
        """The file out of its .deb, whose hash is in the index that the vendor has signed."""
        package = repository.package(file)
        with self.store.locked(package.sha256, lambda: None):
            whole = replace(file, zip=replace(package, addresses=()))
            if stored := self._stored(whole):
                return replace(stored, file=file)
            partial, _, address, _ = self._download(file, [package], package.sha256)
            record = self._record(file, address)
            try:
                with tempfile.TemporaryDirectory(prefix="undeb-", dir=partial.parent) as folder:
                    member = run_of(partial, file.name, Path(folder))
                    sha256 = sha256_of(member)
                    _refuse_another(file, sha256, f"{package.name} of {repository.source.url}")
                    path = self.store.admit(member, sha256, record)
            except OSError as error:
                raise disk_error(partial, error) from error
            self.store.note_opened(package.sha256, file.name, sha256)
            partial.unlink(missing_ok=True)
            notes_of(partial).unlink(missing_ok=True)
            return Fetched(file=file, path=path, sha256=sha256)

    def _record(self, file: File, address: Address, *, first_use: bool = False) -> Origin:
        return Origin(
            name=file.name,
            url=public(address.url),
            fetched=now(),
            eula=file.eula,
            accepted_by=self.terms.accepted_by if file.eula else "",
            first_use=first_use,
        )

    def _stored(self, file: File) -> Fetched | None:
        sha256 = self.store.known(file)
        if not sha256 or not self.store.has(sha256):
            return None
        return Fetched(file=file, path=self.store.path(sha256), sha256=sha256)

    def _fetched(self, file: File, key: str) -> Fetched:
        """The file itself, or out of its zip."""
        partial, sha256, address, download = self._download(file, self._ways(file), key)
        is_first_use = not download.hashes
        record = self._record(file, address, first_use=is_first_use)
        if download is not file.zip:
            other = self.store.record(sha256) if is_first_use and self.store.has(sha256) else None
            if other and other.name != file.name:
                partial.unlink(missing_ok=True)
                raise same_bytes(file, other.name, address.url)
            path = self.store.admit(partial, sha256, record)
            return Fetched(file=file, path=path, sha256=sha256, first_use=is_first_use)
        try:
            with tempfile.TemporaryDirectory(prefix="unzip-", dir=partial.parent) as folder:
                member = _unpacked(partial, download.name, file.name, Path(folder))
                archive, sha256 = sha256, sha256_of(member)
                _refuse_another(file, sha256, public(address.url))
                path = self.store.admit(member, sha256, record)
        except OSError as error:
            raise disk_error(partial, error) from error
        self.store.note_opened(archive, file.name, sha256)
        partial.unlink(missing_ok=True)
        notes_of(partial).unlink(missing_ok=True)
        return Fetched(file=file, path=path, sha256=sha256)

    def _ways(self, file: File) -> list[File]:
        """What may be downloaded for ``file``: it if its hash is known, its zip, it on first use.

        A server may have the one and not the other.
        """
        opened = "" if file.hashes else self.store.known(file)
        own = replace(file, sha256=opened) if opened else file
        ways = [own, file.zip] if own.hashes else [file.zip, file if self.terms.first_use else None]
        return [each for each in ways if each]

    def _download(
        self, file: File, ways: Sequence[File], key: str
    ) -> tuple[Path, str, Address, File]:
        """The verified download for ``file``: its sha256, its address, and which way it is."""
        failures: dict[str, TransferError] = {}
        for number, download in enumerate(ways):
            if not download.hashes and any(each.is_altered for each in failures.values()):
                break
            local = (replace(s, url=f"{s.url}/{quote(download.name)}") for s in self.servers)
            task = self.bars.add_task(download.name, total=None)
            transfer = Transfer(
                client=self.client,
                partial=self.store.partial(f"{key}.{number}" if number else key),
                sizes=download.sizes,
                is_pinned=bool(download.sha256),
                retries=self.retries,
                window=self.window,
                stop=self.stop,
                arrived=functools.partial(_show, self.bars, task),
            )
            try:
                # The user's own servers before those of the vendor.
                for address in (*local, *download.addresses):
                    try:
                        sha256 = self._right(download, transfer, address)
                    except TransferError as error:
                        failures[public(address.url)] = error
                    else:
                        return transfer.partial, sha256, address, download
            finally:
                self.bars.remove_task(task)
        tried = "".join(f"\n  {url}: {error}." for url, error in failures.items())
        what = f"{file.name} cannot be fetched:{tried or ' no server is known.'}\n"
        fix = f"Retry later, add a server to cannery.toml, or get it from: {file.origin}."
        if file.zip and not file.hashes and not self.terms.first_use:
            fix += " --trust-first-use takes the file itself, whose hash nobody publishes."
        raise ArtifactError(Problem(what=what, fix=fix))

    def _right(self, file: File, transfer: Transfer, address: Address) -> str:
        """The sha256 of the file at ``address``.

        Raises:
            TransferError: it does not deliver the file.
        """
        if not file.hashes and not is_safe(address.url):
            raise TransferError("without TLS, a file is not trusted on first use", final=True)
        while True:
            transfer.is_mixed = False
            transfer.run(address)
            sha256 = sha256_of(transfer.partial)
            size = transfer.partial.stat().st_size
            why = _wrong(transfer.partial, file, sha256) if size else "its file is empty"
            if not why:
                return sha256
            transfer.discard()
            if not transfer.is_mixed:
                raise TransferError(why, final=True, is_altered=True)


def same_bytes(file: File, other: str, url: str = "") -> ArtifactError:
    """The error that what was sent as ``file`` is the file ``other``, byte by byte."""
    what = f"{file.name} cannot be fetched: its bytes are those of {other}, and two packages never "
    what += f"have one hash{f' (from {public(url)})' if url else ''}."
    return ArtifactError(Problem(what=what, fix=f"Get it from: {file.origin}."))


def _refuse_another(file: File, sha256: str, place: str) -> None:
    """Refuse a file out of the archive ``place`` if ``file`` has other hashes."""
    if file.hashes and sha256 not in file.hashes:
        what = f"{place} has {file.name} with sha256 {sha256}, but {file.published} was published."
        fix = "Compare them; a file may have several hashes (docs/cann.md)."
        raise ArtifactError(Problem(what=what, fix=fix))


def _wrong(path: Path, file: File, sha256: str) -> str:
    """Why ``path``, which has ``sha256``, is not ``file``; empty if it is."""
    if not file.hashes:
        return wrong_package(path, file.name)
    if sha256 in file.hashes:
        return ""
    with path.open("rb") as stream:
        page = page_in(stream.read(LONGEST_PAGE), path.stat().st_size)
    return page or f"its file has sha256 {sha256}, but {file.published} was published"


def _show(bars: Progress, task: progress.TaskID, there: int, total: int) -> None:
    bars.update(task, completed=there, total=total or None)


def _unpacked(path: Path, name: str, wanted: str, folder: Path, *, is_inner: bool = False) -> Path:
    """The file ``wanted`` of the zip ``path``, or of the one zip in it, unpacked into ``folder``.

    ``name`` is that of the zip for people. No path in an archive is followed.
    """
    why = ""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            matches = [m for m in members if m.filename.rpartition("/")[2] == wanted]
            zips = [member for member in members if member.filename.endswith(".zip")]
            if len(matches) > 1:
                why = f"it contains {wanted} {len(matches)} times"
            elif not matches and (is_inner or len(zips) != 1):
                why = f"it does not contain {wanted}"
            else:
                member = (matches or zips)[0]
                file = member.filename.rpartition("/")[2]
                if file in ("", ".", "..") or "\0" in file or "\\" in file:
                    why = f"it contains the invalid name {member.filename!r}"
                elif member.file_size > min(_LARGEST, _RATIO * max(member.compress_size, 1)):
                    why = f"{file} in it would have {member.file_size:,} bytes"
                else:
                    folder.mkdir(parents=True, exist_ok=True)
                    with archive.open(member) as source, (folder / file).open("wb") as target:
                        # zipfile ends a member at its size, and compares its checksum there.
                        shutil.copyfileobj(source, target, 1 << 20)
    except _DAMAGED as error:
        why = f"it is damaged ({error})"
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # a seek to where nothing can be
            raise disk_error(folder, error) from error
        why = "it is damaged"
    if why:
        fix = "Nothing was taken from it. Report this to whoever serves the file."
        raise ArtifactError(Problem(what=f"cannot use {name}: {why}.", fix=fix))
    if matches:
        return folder / file
    return _unpacked(folder / file, file, wanted, folder / "inner", is_inner=True)
