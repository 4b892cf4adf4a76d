# SPDX-License-Identifier: Apache-2.0
"""Fetches files into the store: from one server after the other, until the hash is right."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from urllib.parse import quote

from cannery.common import console
from cannery.common.bases import Address, File
from cannery.common.errors import ArtifactError, Problem
from cannery.common.files import now, sha256_of
from cannery.common.http import RetryPolicy, is_safe, public
from cannery.common.process import Stopped
from cannery.fetch.http import Client, TransferError
from cannery.fetch.needs import Lacks
from cannery.fetch.store import Origin, Store, notes_of
from cannery.fetch.transfer import Screen, Transfer, disk_error
from cannery.fetch.unzip import Archive


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
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    window: float = 60.0
    screen: Screen = field(default_factory=Screen)
    stop: Event = field(default_factory=Event)

    def addresses(self, file: File) -> tuple[Address, ...]:
        """Where ``file`` itself can be had: the user's own servers before those of the vendor."""
        own = (replace(each, url=f"{each.url}/{quote(file.name)}") for each in self.servers)
        return (*own, *file.addresses)

    def fetch(self, file: File) -> Fetched:
        """The file in the store; it is downloaded if it is not there.

        Raises:
            ArtifactError: no server delivers the right file, its licence was not accepted, or
                nobody publishes its hash.
            FileError: the store cannot be written.
        """
        sha256 = self.store.known(file)
        if sha256 and self.store.has(sha256):
            return Fetched(file=file, path=self.store.path(sha256), sha256=sha256)
        if problems := self.terms.against(file):
            raise ArtifactError(problems)
        key = sha256 or (file.zip.sha256 if file.zip else _key(file.name))
        with self.store.locked(key, self._waiting(file.name)):
            sha256 = self.store.known(file)
            if sha256 and self.store.has(sha256):
                return Fetched(file=file, path=self.store.path(sha256), sha256=sha256)
            begun = time.monotonic()
            found = self._fetched(file, key)
            took, size = time.monotonic() - begun, found.path.stat().st_size
            console.say(f"fetched {file.name}: {size / 1e6:,.1f} MB in {took:.1f} s")
            return found

    def _waiting(self, name: str) -> _Waiting:
        return _Waiting(name, self.stop)

    def _fetched(self, file: File, key: str) -> Fetched:
        """The file, from its zip if only that has a published hash."""
        failures: dict[str, str] = {}
        if file.zip and not file.sha256:
            made = self._from_zip(file, file.zip, failures)
        else:
            made = self._plain(file, key, failures)
        if made is None:
            raise _not_fetched(file, failures)
        return made

    def _plain(self, file: File, key: str, failures: dict[str, str]) -> Fetched | None:
        got = self._download(file, key, failures)
        if got is None:
            return None
        partial, sha256, address = got
        record = self._record(file, address)
        path = self.store.admit(partial, sha256, replace(record, first_use=not file.sha256))
        return Fetched(file=file, path=path, sha256=sha256, first_use=not file.sha256)

    def _from_zip(self, file: File, archive: File, failures: dict[str, str]) -> Fetched | None:
        got = self._download(archive, archive.sha256, failures)
        if got is None:
            return None
        zipped, _, address = got
        try:
            with tempfile.TemporaryDirectory(prefix="unzip-", dir=zipped.parent) as folder:
                path = Archive(zipped, archive.name, Path(folder)).take(file.name)
                sha256 = sha256_of(path)
                stored = self.store.admit(path, sha256, self._record(file, address))
        except OSError as error:
            raise disk_error(zipped, error) from error
        self.store.note_opened(archive.sha256, file.name, sha256)
        zipped.unlink(missing_ok=True)
        notes_of(zipped).unlink(missing_ok=True)
        return Fetched(file=file, path=stored, sha256=sha256)

    def _record(self, file: File, address: Address) -> Origin:
        return Origin(
            name=file.name,
            url=public(address.url),
            fetched=now(),
            eula=file.eula,
            accepted_by=self.terms.accepted_by if file.eula else "",
        )

    def _download(
        self, file: File, key: str, failures: dict[str, str]
    ) -> tuple[Path, str, Address] | None:
        """The verified download of ``file`` with its sha256 and its address; None if all fail."""
        with self.screen.bar(file.name) as bar:
            transfer = Transfer(
                client=self.client,
                partial=self.store.partial(key),
                size=file.size,
                is_pinned=bool(file.sha256),
                retries=self.retries,
                window=self.window,
                stop=self.stop,
                arrived=bar,
            )
            for address in self.addresses(file):
                try:
                    if sha256 := self._right(file, transfer, address):
                        return transfer.partial, sha256, address
                except TransferError as error:
                    failures[public(address.url)] = str(error)
        return None

    def _right(self, file: File, transfer: Transfer, address: Address) -> str:
        """The sha256 of what ``address`` delivers.

        Raises:
            TransferError: it does not deliver the file.
        """
        if not file.sha256 and not is_safe(address.url):
            raise TransferError("without TLS, a file is not trusted on first use", final=True)
        while True:
            transfer.is_mixed = False
            transfer.run(address)
            sha256 = sha256_of(transfer.partial)
            size = transfer.partial.stat().st_size
            if size and sha256 == (file.sha256 or sha256):
                return sha256
            transfer.discard()
            if not transfer.is_mixed:
                why = "its file is empty" if not size else f"its file has sha256 {sha256}"
                why += f", but {file.sha256} was published" if size else ""
                raise TransferError(why, final=True)


@dataclass
class _Waiting:
    """Says once that another process is fetching the same file."""

    name: str
    stop: Event
    said: bool = False

    def __call__(self) -> None:
        if self.stop.is_set():
            raise Stopped
        if not self.said:
            console.say(f"{self.name} is being fetched by another process; waiting for it")
            self.said = True


def _key(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _not_fetched(file: File, failures: Mapping[str, str]) -> ArtifactError:
    tried = "".join(f"\n  {url}: {why}." for url, why in failures.items())
    what = f"{file.name} cannot be fetched:{tried or ' no server is known.'}\n"
    fix = f"Retry later, add a server to cannery.toml, or get it from: {file.origin}."
    return ArtifactError(Problem(what=what, fix=fix))


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the user has agreed to.

    ``accepted_by`` is who accepts the vendor's licence, empty for nobody. ``first_use`` says that
    a file without a published hash is trusted once.
    """

    accepted_by: str = ""
    first_use: bool = False

    def against(self, file: File) -> list[Problem]:
        """Why ``file`` may not be downloaded."""
        problems: list[Problem] = []
        if file.eula and not self.accepted_by:
            what = f"{file.name} is downloaded only after its licence was accepted: {file.eula}"
            fix = "Read it, then add --accept-eula NAME with the name of who accepts it."
            problems.append(Lacks(what=what, fix=fix))
        if not (file.has_hash or self.first_use):
            what = f"nobody publishes a sha256 of {file.name}, so a download cannot be verified."
            fix = "Add --trust-first-use to write the hash of the first download down for review."
            problems.append(Lacks(what=what, fix=f"{fix} Or get it from: {file.origin}."))
        return problems
