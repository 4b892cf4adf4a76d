# SPDX-License-Identifier: Apache-2.0
"""Downloads the files of locked packages, by the hashes in the lock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import unquote, urlsplit

from cannery.building.bundle.archive import invalid, is_sha256, is_text, read_object
from cannery.common.errors import ArtifactError, EngineError, Problem, file_error
from cannery.common.file_hashes import sha256_of
from cannery.common.http import Patience
from cannery.common.outside import parse_toml, printable
from cannery.common.package_index import PackageIndex
from cannery.common.sources import Address
from cannery.common.wheels import BuiltWheel
from cannery.fetch.http import Client, Timeouts, TransferError
from cannery.fetch.transfer import Transfer
from cannery.lock.uv import Job, compiled, stated_metadata

LIST = "wheels.json"
"""Package to the names of its files with their sha256."""


@dataclass(frozen=True, kw_only=True)
class Locked:
    """A requirements file with hashes, and the options of uv for its interpreter.

    ``options`` are empty for the interpreter that runs this. ``unbuilt`` are sdists in it that
    cannot be built here.
    """

    name: str
    text: str
    options: tuple[str, ...] = ()
    unbuilt: tuple[BuiltWheel, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _File:
    package: str
    name: str
    url: str
    sha256: str


def download(locks: Sequence[Locked], folder: Path, source: PackageIndex) -> None:
    """Download one file of each package in ``locks`` into ``folder``, with a list of them.

    A file that is there already, complete, stays.

    Raises:
        MatrixError, EngineError: the index cannot be read, or a file cannot be downloaded.
        ArtifactError: the index serves other bytes than the lock names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, str]] = {}
    client = Client(source.ca, Timeouts())
    for lock in locks:
        for file in _files(lock, source):
            _get(client, file, folder / file.name, source)
            found.setdefault(file.package, {})[file.name] = file.sha256
    (folder / LIST).write_text(json.dumps(found, indent=1, sort_keys=True), encoding="utf-8")


def listed(folder: Path) -> Mapping[str, Mapping[str, str]]:
    """What ``download`` wrote down: package to file to sha256.

    Raises:
        ArtifactError: the list is not valid, or a file of it is not the one with its sha256.
        FileError: a file cannot be read.
    """
    path = folder / LIST
    try:
        found = read_object(path)
        for package, files in found.items():
            if not isinstance(files, dict):
                raise invalid(path, f"{printable(package[:200])} has no files")
            for name, digest in files.items():
                file = folder / name
                plain = is_text(name, r"[\w+!.-]+") and not file.is_symlink() and file.is_file()
                if not plain or not is_sha256(digest) or sha256_of(file) != digest:
                    named = printable(name[:200])
                    raise invalid(path, f"{named} is not a file with the sha256 it has there")
    except OSError as error:
        raise file_error("read", path, error) from error
    return found


def _files(lock: Locked, source: PackageIndex) -> Iterator[_File]:
    """The files that uv would install, with their addresses."""
    job = Job(
        name=lock.name,
        inputs={"requirements.txt": lock.text},
        options=("--no-deps", "--format", "pylock.toml", *lock.options),
        more=stated_metadata({each.package: each.version for each in lock.unbuilt}),
        output="pylock.toml",
    )
    for package in parse_toml(compiled(job, source))["packages"]:
        yield _chosen(lock, package)


def _chosen(lock: Locked, package: dict[str, Any]) -> _File:
    """The file of ``package`` that the lock allows; a wheel if it allows several."""
    every = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
    for file in every:
        digest = file["hashes"]["sha256"]
        if f"sha256:{digest}" in lock.text:
            name = unquote(urlsplit(file["url"]).path.rpartition("/")[2])
            return _File(package=package["name"], name=name, url=file["url"], sha256=digest)
    name = f"{package['name']} {package['version']}"
    what = f"the index has no file of {name} that {lock.name} allows."
    raise ArtifactError(Problem(what=what, fix="Run 'build.py lock', or check the index."))


def _get(client: Client, file: _File, path: Path, source: PackageIndex) -> None:
    if path.is_file() and sha256_of(path) == file.sha256:
        return
    transfer = Transfer(
        client=client,
        partial=path.with_name(f".{path.name}.partial"),
        size=0,
        is_pinned=True,
        patience=Patience(),
        stop=Event(),
    )
    try:
        transfer.run(Address(url=file.url))
        if (digest := sha256_of(transfer.partial)) != file.sha256:
            what = (
                f"the index sent other bytes for {file.name}: sha256 {digest}, not {file.sha256}."
            )
            raise ArtifactError(Problem(what=what, fix="Check the index or the mirror."))
        transfer.partial.replace(path)
    except TransferError as error:
        what = f"{file.name} could not be downloaded: {source.redacted(str(error))}."
        raise EngineError(Problem(what=what, fix="Check the network, and try again.")) from error
    finally:
        transfer.discard()
