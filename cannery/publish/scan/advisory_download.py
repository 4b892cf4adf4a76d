# SPDX-License-Identifier: Apache-2.0
"""Reads advisories of a database: files, folders, zip archives, or a server that mirrors OSV's."""

from __future__ import annotations

import json
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

from cannery.common import console
from cannery.common.errors import EngineError, FileError, Problem, Span, UsageError, file_error
from cannery.common.http import Patience
from cannery.common.outside import parse_json
from cannery.common.sources import Address
from cannery.common.urls import public
from cannery.fetch.http import Client, Timeouts, TransferError
from cannery.fetch.transfer import Transfer
from cannery.publish.scan.advisories import Database

_DUMP = "all.zip"
"""The archive in the folder of an ecosystem, as OSV publishes its advisories."""

_LARGEST = 1 << 28
"""The most bytes of one file of advisories, unpacked."""

_KINDS = (".json", ".zip")
_NOT_A_ZIP = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)
_PATIENCE = Patience(tries=4, pause=0.5)
_WEB = ("http://", "https://")


def require_files(sources: Iterable[str]) -> None:
    """Raise UsageError where one of ``sources`` is a path that does not exist."""
    for source in sources:
        if not source.startswith(_WEB) and not Path(source).exists():
            what = f"there is no file {source}, named with --database."
            fix = "Name a file, a folder or a web address with advisories in OSV's format."
            raise UsageError(Problem(what=what, fix=fix))


def read_advisories(
    sources: Sequence[str], database: Database, ecosystems: Collection[str], ca: Path | None
) -> None:
    """Add the advisories of ``sources``, paths and web addresses, to ``database``.

    Of a server, those of ``ecosystems`` are read, such as PyPI or Debian; ``ca`` is a file of
    certificates to trust.

    Raises:
        UsageError: a file does not exist, or is of no kind that is known.
        EngineError: a server does not deliver.
        FileError: a file cannot be read, or has records that are wrong, with every one of them.
    """
    require_files(sources)
    for source in sources:
        if source.startswith(_WEB):
            _of_server(source, database, ecosystems, ca)
        else:
            _of_path(Path(source), database)
    database.raise_if_wrong()


def _of_server(url: str, database: Database, ecosystems: Collection[str], ca: Path | None) -> None:
    places = [url]
    if not url.endswith(_KINDS):
        places = [f"{url.rstrip('/')}/{name}/{_DUMP}" for name in sorted(ecosystems)]
    client = Client(ca, Timeouts())
    with tempfile.TemporaryDirectory(prefix="cannery-advisories-") as folder:
        for number, place in enumerate(places):
            path = Path(folder) / f"{number}{Path(place).suffix}"
            console.say(f"downloading {public(place)}")
            _download(client, place, path)
            _of_file(path, public(place), database)


def _download(client: Client, url: str, path: Path) -> None:
    transfer = Transfer(
        client=client, partial=path, size=0, is_pinned=False, patience=_PATIENCE, stop=Event()
    )
    try:
        transfer.run(Address(url=url))
    except TransferError as error:
        what = f"{public(url)} could not be downloaded: {error}."
        fix = "Check --database; name a file with your own certificates with --ca."
        raise EngineError(Problem(what=what, fix=fix)) from error


def _of_path(path: Path, database: Database) -> None:
    if not path.is_dir():
        _of_file(path, str(path), database)
        return
    files = sorted(each for each in path.rglob("*") if each.suffix in _KINDS and each.is_file())
    if not files:
        fix = "It must have *.json files or zip archives of them, as OSV publishes."
        raise UsageError(Problem(what=f"the folder {path} has no advisories.", fix=fix))
    for each in files:
        _of_file(each, str(each), database)


def _of_file(path: Path, name: str, database: Database) -> None:
    if path.suffix not in _KINDS:
        fix = "Name a *.json file, a zip archive or a folder of them."
        raise UsageError(Problem(what=f"{name} is not a file of advisories.", fix=fix))
    try:
        if path.suffix == ".zip":
            _of_zip(path, name, database)
        elif path.stat().st_size > _LARGEST:
            database.wrong(Problem(what=f"{name} is larger than {_LARGEST >> 20} MB."))
        else:
            _of_json(path.read_bytes(), name, database)
    except _NOT_A_ZIP as error:
        what = f"{name} is not a complete zip archive: {error}."
        database.wrong(Problem(what=what, fix="Download it again."))
    except OSError as error:
        raise file_error("read", path, error) from error


def _of_zip(path: Path, name: str, database: Database) -> None:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.filename.endswith(".json"):
                continue
            if member.file_size > _LARGEST:
                what = f"{name}: {member.filename} is larger than {_LARGEST >> 20} MB."
                database.wrong(Problem(what=what))
                continue
            with archive.open(member) as stream:
                # Not more than the archive says that there is.
                content = stream.read(member.file_size + 1)
            _of_json(content, f"{name}/{member.filename}", database)


def _of_json(content: bytes, name: str, database: Database) -> None:
    try:
        document = read_json(content, name)
    except FileError as error:
        for problem in error.problems:
            database.wrong(problem)
        return
    for number, record in enumerate(records := [*_records(document)]):
        database.add(record, name if len(records) == 1 else f"{name}, record {number + 1}")


def _records(document: Any) -> Iterator[Any]:
    """The records of a document: one, a list of them, or the answer of OSV's interface."""
    if isinstance(document, dict) and isinstance(document.get("vulns"), list):
        document = document["vulns"]
    yield from document if isinstance(document, list) else [document]


def read_json(content: bytes, name: str) -> Any:
    """The document in ``content``, the content of a file called ``name``.

    Raises:
        FileError: it is not JSON, with the place.
    """
    try:
        return parse_json(content.decode("utf-8-sig"), most=_LARGEST)
    except UnicodeDecodeError as error:
        raise FileError(Problem(what=f"{name} is not UTF-8 text: {error.reason}.")) from error
    except json.JSONDecodeError as error:
        where = Span(file=name, line=error.lineno, column=error.colno)
        said = error.msg[0].lower() + error.msg[1:]
        raise FileError(Problem(what=f"the file is not JSON: {said}.", where=where)) from error
    except ValueError as error:
        raise FileError(Problem(what=f"{name} is not valid: {error}.")) from error
