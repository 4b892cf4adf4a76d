# SPDX-License-Identifier: Apache-2.0
"""The vendor's repository for apt: a signed index with the hash of each package, which has a .run.

InRelease must be signed by a key with a fingerprint that the user has pinned; it has the hash of
the list of packages, and that the hash of each. ``gpgv`` verifies the signature, apt's own verifier
until 2025: it is in every Debian and Ubuntu, trusts no key but those of one file, and writes the
text that was signed. (On the package index, PGPy has had no release since 2022, and pysequoia is a
library of Sequoia's for which nothing but this check would be needed.)

Form of the files: https://wiki.debian.org/DebianRepository/Format and deb(5).
"""

from __future__ import annotations

import hashlib
import io
import lzma
import re
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import HeaderParser
from email.utils import parsedate_to_datetime
from pathlib import Path
from threading import Event, Lock
from typing import IO, NoReturn
from urllib.parse import quote

import zstandard

from cannery.common.archives import read_tar
from cannery.common.bases import Address, File
from cannery.common.errors import ArtifactError, Problem, some_of
from cannery.common.http import RetryPolicy, RetryState
from cannery.common.outside import one_line
from cannery.common.process import Stopped, allowed_env
from cannery.fetch.http import Client, TransferError
from cannery.matrix.settings import Apt

_MOST = 64 << 20
"""The most bytes of an index, also unpacked."""

_AR, _HEAD = b"!<arch>\n", 60
_FILE = re.compile(
    r"(Ascend-cann-(?:toolkit|nnal|\w+-ops))_(\d+\.\d+[\w.~-]*)_linux-(aarch64|x86_64)\.run"
)
_OLDEST = (8, 5)
"""The first release of the repository."""

_ARCHITECTURES = {"aarch64": "arm64", "x86_64": "amd64"}
_INDEXES = ("Packages.xz", "Packages.gz", "Packages")
_DAMAGED = (tarfile.TarError, lzma.LZMAError, zlib.error, zstandard.ZstdError, EOFError, ValueError)


def is_in_apt(file: File) -> bool:
    """Whether the vendor's repository may have ``file``: packages of CANN from 8.5 on."""
    named = _FILE.fullmatch(file.name)
    return named is not None and tuple(map(int, re.findall(r"\d+", named[2])[:2])) >= _OLDEST


@dataclass(eq=False, kw_only=True)
class AptRepository:
    """The repository ``source``; its index is read and verified once for each architecture."""

    source: Apt
    client: Client
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    stop: Event = field(default_factory=Event)
    _indexes: dict[str, list[dict[str, str]]] = field(default_factory=dict, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def package(self, file: File) -> File:
        """The .deb with ``file``, with its hash and its address.

        Raises:
            ArtifactError: the index cannot be had, is not signed, is altered or has expired, or
                has no such package.
        """
        named = _FILE.fullmatch(file.name)
        if not named:
            self._refuse(f"it has no packages such as {file.name}")
        package, release, architecture = named[1].lower(), named[2], _ARCHITECTURES[named[3]]
        with self._lock:
            if architecture not in self._indexes:
                self._indexes[architecture] = self._read_index(architecture)
        # Its names have capital letters, as in ascend-cann-A3-ops.
        of_name = [
            e for e in self._indexes[architecture] if e.get("package", "").lower() == package
        ]
        entry = next((each for each in of_name if each.get("version") == release), None)
        if entry is None:
            others = sorted({each.get("version", "") for each in of_name})
            known = f", only {one_line(some_of(others, 9))}" if others else ""
            self._refuse(f"it has no {package} {release} for {architecture}{known}")
        path, sha256, size = (entry.get(key, "") for key in ("filename", "sha256", "size"))
        if not re.fullmatch(r"[0-9a-f]{64}", sha256) or not size.isdecimal():
            self._refuse(f"its entry of {package} {release} has no sha256 and size")
        address = Address(url=f"{self.source.url}/{quote(path)}")
        name = path.rpartition("/")[2]
        return File(
            name=name, origin=file.origin, sha256=sha256, size=int(size), addresses=(address,)
        )

    def _refuse(self, why: str) -> NoReturn:
        what = f"the repository {self.source.url} cannot be used: {why}."
        fix = "See 'Huawei's repository for apt' in docs/cann.md. Nothing was taken from it."
        raise ArtifactError(Problem(what=what, fix=fix))

    def _get(self, path: str) -> bytes:
        """The file ``path``; what fails on the way is asked for again, as for packages."""
        tries = RetryState(self.retries)
        while True:
            try:
                return self._get_once(path)
            except TransferError as error:
                pause = tries.pause(asked=error.after)
                if error.final or pause is None:
                    self._refuse(f"{path}: {error}")
            if self.stop.wait(pause):
                raise Stopped

    def _get_once(self, path: str) -> bytes:
        content = io.BytesIO()
        with self.client.get(Address(url=f"{self.source.url}/{path}")) as answer:
            for chunk in answer.chunks(1 << 16):
                content.write(chunk)
                if content.tell() > _MOST:
                    self._refuse(f"{path} has more than {_MOST:,} bytes")
        if content.tell() < answer.total:
            raise TransferError(f"it sends {content.tell():,} of {answer.total:,} bytes")
        return content.getvalue()

    def _read_index(self, architecture: str) -> list[dict[str, str]]:
        folder = f"dists/{self.source.suite}"
        [release, *_] = _stanzas(self._signed(self._get(f"{folder}/InRelease"))) or [{}]
        suites = {release.get("suite"), release.get("codename")}
        if self.source.suite not in suites:
            self._refuse(f"InRelease is not of the suite {self.source.suite}")
        if until := release.get("valid-until"):
            try:
                is_over = parsedate_to_datetime(until) < datetime.now(UTC)
            except (ValueError, TypeError):
                self._refuse(f"InRelease has no date in Valid-Until: {one_line(until[:40])}")
            if is_over:
                self._refuse(f"InRelease has expired on {until}; it may be an old one")
        rows = (line.split() for line in release.get("sha256", "").splitlines())
        hashes = {row[2]: row for row in rows if len(row) == 3}
        for name in _INDEXES:
            path = f"{self.source.component}/binary-{architecture}/{name}"
            if path in hashes:
                content = self._get(f"{folder}/{path}")
                if hashlib.sha256(content).hexdigest() != hashes[path][0]:
                    self._refuse(f"{path} is not the one whose sha256 was signed")
                return _stanzas(self._unpacked(content, name))
        return self._refuse(f"InRelease names no list of packages for {architecture}")

    def _unpacked(self, content: bytes, name: str) -> str:
        kind, text = name.rpartition(".")[2], content
        try:
            if kind == "xz":
                text = lzma.LZMADecompressor().decompress(content, _MOST + 1)
            elif kind == "gz":
                text = zlib.decompressobj(wbits=31).decompress(content, _MOST + 1)
        except _DAMAGED as error:
            self._refuse(f"{name} is damaged ({one_line(str(error))})")
        if len(text) > _MOST:
            self._refuse(f"{name} has more than {_MOST:,} bytes")
        return text.decode("utf-8", "replace")

    def _signed(self, content: bytes) -> str:
        """The text in ``content`` that the pinned key has signed."""
        if not (program := shutil.which("gpgv")):
            self._refuse("the program gpgv, which verifies signatures, is not installed")
        with tempfile.TemporaryDirectory(prefix="cannery-apt-") as temporary:
            place = Path(temporary)
            (place / "InRelease").write_bytes(content)
            try:
                (place / "key.gpg").write_bytes(_binary(self.source.key.read_bytes()))
            except (OSError, ValueError) as error:
                self._refuse(f"its key {self.source.key} cannot be read ({error})")
            argv = [program, "--homedir", temporary, "--keyring", str(place / "key.gpg")]
            argv += ["--status-fd", "1", "--output", str(place / "text"), str(place / "InRelease")]
            done = subprocess.run(
                argv,
                env=allowed_env("gpgv"),
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            # VALIDSIG has the fingerprint of the signing key first, and of its primary key last.
            valid = re.findall(r"(?m)^\[GNUPG:\] VALIDSIG (\w{40}) (?:.* )?(\w{40})$", done.stdout)
            if done.returncode or not valid:
                said = [line for line in done.stderr.splitlines() if line.strip()]
                self._refuse(f"InRelease has no valid signature ({one_line(' '.join(said[-1:]))})")
            keys = {each.upper() for pair in valid for each in pair}
            if self.source.fingerprint.upper() not in keys:
                self._refuse(
                    f"InRelease is signed with the key {some_of(sorted(keys), 2)}, and not with "
                    f"{self.source.fingerprint}"
                )
            return (place / "text").read_text(encoding="utf-8", errors="replace")


def _binary(key: bytes) -> bytes:
    """``key`` as gpgv reads it, without ASCII armour (RFC 9580, 6.2)."""
    if not key.startswith(b"-----BEGIN PGP PUBLIC KEY BLOCK-----"):
        return key
    import base64

    lines = key.decode("ascii").split("-----")[2].strip().splitlines()
    body = lines[lines.index("") + 1 :] if "" in lines else lines
    return base64.b64decode("".join(line for line in body if not line.startswith("=")))


def _stanzas(text: str) -> list[dict[str, str]]:
    """The paragraphs of a control file, each with its fields by their names in small letters."""
    found = map(HeaderParser().parsestr, re.split(r"\n\s*\n", text.strip()))
    return [{key.lower(): str(value) for key, value in each.items()} for each in found]


def run_of(deb: Path, name: str, folder: Path) -> Path:
    """The file ``name`` of the package ``deb``, unpacked into ``folder``; no program is run.

    Raises:
        ArtifactError: the package is damaged, or does not have the file once.
    """
    why, target = "", folder / name
    try:
        with deb.open("rb") as stream, closing(_data(stream)) as archive:
            count = 0
            for member in archive:
                if member.isreg() and member.name.rpartition("/")[2] == name:
                    count += 1
                    content = archive.extractfile(member)
                    assert content
                    with target.open("wb") as output:
                        shutil.copyfileobj(content, output, 1 << 20)
        why = "" if count == 1 else f"it contains {name} {count} times"
        why = why if count else f"it does not contain {name}"
    except _DAMAGED as error:
        why = f"it is damaged ({one_line(str(error))})"
    if why:
        fix = "Nothing was taken from it. Report this to whoever serves the file."
        raise ArtifactError(Problem(what=f"cannot use the package {deb.name}: {why}.", fix=fix))
    return target


def _data(stream: IO[bytes]) -> tarfile.TarFile:
    """The archive with the files of a .deb, an ar archive; ValueError if there is none."""
    if stream.read(len(_AR)) != _AR:
        raise ValueError("it is no package for apt")
    for name, size in _members(stream):
        if name.startswith("data.tar"):
            if name.endswith(".zst"):
                reader = zstandard.ZstdDecompressor().stream_reader(stream)
                return read_tar(reader, "r|")
            return read_tar(stream, "r|*")
        stream.seek(size + size % 2, io.SEEK_CUR)
    raise ValueError("it has no data")


def _members(stream: IO[bytes]) -> Iterator[tuple[str, int]]:
    while len(head := stream.read(_HEAD)) == _HEAD:
        if head[58:] != b"`\n" or not head[48:58].strip().isdigit():
            raise ValueError("a header of it is damaged")
        yield head[:16].decode("ascii", "replace").strip().rstrip("/"), int(head[48:58])
