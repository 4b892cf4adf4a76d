# SPDX-License-Identifier: Apache-2.0
"""Downloads the files of locked packages, by the hashes in the lock."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import requests
from requests.adapters import HTTPAdapter

from cannery.errors import ArtifactError, EngineError, Problem
from cannery.execute.engine.buildx import PackageIndex
from cannery.execute.process import run
from cannery.execute.registry.http import PATIENCE
from cannery.execute.uv import stated_metadata
from cannery.wheels import BuiltWheel

LIST = "wheels.json"
"""Package to the names of its files with their sha256."""

_TIMEOUT = (10.0, 120.0)
_CHUNK = 1 << 20


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
        EngineError: the index cannot be read, or a file cannot be downloaded.
        ArtifactError: the index serves other bytes than the lock names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, str]] = {}
    with requests.Session() as session:
        session.mount("https://", HTTPAdapter(max_retries=PATIENCE))
        session.mount("http://", HTTPAdapter(max_retries=PATIENCE))
        if source.ca:
            session.verify = str(source.ca)
        for lock in locks:
            for file in _files(lock, source):
                _get(session, file, folder / file.name, source)
                found.setdefault(file.package, {})[file.name] = file.sha256
    (folder / LIST).write_text(json.dumps(found, indent=1, sort_keys=True), encoding="utf-8")


def listed(folder: Path) -> Mapping[str, Mapping[str, str]]:
    """What ``download`` wrote down: package to file to sha256."""
    found: dict[str, dict[str, str]] = json.loads((folder / LIST).read_text(encoding="utf-8"))
    return found


def _files(lock: Locked, source: PackageIndex) -> Iterator[_File]:
    """The files that uv would install, with their addresses."""
    with tempfile.TemporaryDirectory(prefix="cannery-bundle-") as place:
        requirements, output = Path(place) / "requirements.txt", Path(place) / "pylock.toml"
        requirements.write_text(lock.text, encoding="utf-8")
        for name, text in stated_metadata(lock.unbuilt).items():
            (Path(place) / name).write_text(text, encoding="utf-8")
        argv = [sys.executable, "-m", "uv", "pip", "compile", str(requirements), "--no-deps"]
        argv += ["--format", "pylock.toml", "--quiet", *lock.options, "--output-file", str(output)]
        environment = {"UV_DEFAULT_INDEX": source.index_url} if source.index_url else {}
        environment |= {"SSL_CERT_FILE": str(source.ca)} if source.ca else {}
        code, said = run(argv, cwd=Path(place), capture=True, env=environment)
        if code:
            what = f"uv could not find the files of {lock.name}. uv says:\n{source.redacted(said)}"
            raise EngineError(Problem(what=what, fix="Check the network, --index-url and --ca."))
        packages = tomllib.loads(output.read_text(encoding="utf-8"))["packages"]
    for package in packages:
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


def _get(session: requests.Session, file: _File, path: Path, source: PackageIndex) -> None:
    if path.is_file() and _sha256(path) == file.sha256:
        return
    partial = path.with_name(f".{path.name}.partial")
    try:
        with session.get(file.url, stream=True, timeout=_TIMEOUT) as answer:
            answer.raise_for_status()
            with partial.open("wb") as out:
                for chunk in answer.iter_content(_CHUNK):
                    out.write(chunk)
    except requests.RequestException as error:
        what = f"{file.name} could not be downloaded: {source.redacted(str(error))}."
        raise EngineError(Problem(what=what, fix="Check the network, and try again.")) from error
    if (digest := _sha256(partial)) != file.sha256:
        what = f"the index sent other bytes for {file.name}: sha256 {digest}, not {file.sha256}."
        raise ArtifactError(Problem(what=what, fix="Check the index or the mirror."))
    partial.replace(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
