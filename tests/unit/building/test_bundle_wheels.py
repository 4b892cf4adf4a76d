# SPDX-License-Identifier: Apache-2.0
"""The wheels of a bundle: the one file that a lock names, from an index that may lie."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.building.bundle.wheels import Locked, download, listed
from cannery.common.errors import ArtifactError, CanneryError
from cannery.common.package_index import PackageIndex
from cannery.lock.uv import UnsolvedError
from tests.unit.http_servers import Handler, answering

FILE = "thing-1-py3-none-any.whl"
METADATA = "Metadata-Version: 2.1\nName: thing\nVersion: 1\n"


def _wheel() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("thing.py", "")
        archive.writestr("thing-1.dist-info/METADATA", METADATA)
        archive.writestr("thing-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("thing-1.dist-info/RECORD", "")
    return stream.getvalue()


WHEEL = _wheel()
DIGEST = hashlib.sha256(WHEEL).hexdigest()


class _Index(Handler):
    """An index with one package; ``sent`` are the bytes of its only file."""

    sent = WHEEL

    def answer(self) -> None:
        page = f'<a href="/files/{FILE}#sha256={DIGEST}">{FILE}</a>'.encode()
        answers = {"/simple/thing/": page, f"/files/{FILE}": self.sent}
        body = answers.get(self.path, b"")
        if self.path == f"/files/{FILE}.metadata":
            body = METADATA.encode()
        kind = "text/html" if body is page else "application/zip"
        self.reply(200 if body else 404, body, Content_Type=kind)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[PackageIndex]:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    with answering(_Index) as address:
        yield PackageIndex(ca=None, index_url=f"{address}/simple")


def _lock(digest: str, name: str = "thing") -> Locked:
    return Locked(name="the lock", text=f"{name}==1 \\\n    --hash=sha256:{digest}\n")


def test_the_locked_file(index: PackageIndex, tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    download([_lock(DIGEST), _lock(DIGEST)], folder, index)
    assert (folder / FILE).read_bytes() == WHEEL
    assert listed(folder) == {"thing": {FILE: DIGEST}}
    assert len([*folder.iterdir()]) == 2


def test_other_bytes_are_refused(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    download([_lock(DIGEST)], tmp_path / "first", index)
    # uv has the metadata in its cache now, and asks for the file no more.
    monkeypatch.setattr(_Index, "sent", b"login page")
    with pytest.raises(ArtifactError, match=f"the index sent other bytes for {FILE}"):
        download([_lock(DIGEST)], tmp_path / "wheels", index)
    assert not (tmp_path / "wheels" / FILE).exists()


def test_a_file_that_the_lock_does_not_allow(index: PackageIndex, tmp_path: Path) -> None:
    with pytest.raises(CanneryError, match="thing"):
        download([_lock("0" * 64)], tmp_path / "wheels", index)


def test_a_package_that_the_index_does_not_have(index: PackageIndex, tmp_path: Path) -> None:
    with pytest.raises(UnsolvedError, match="the requirements of the lock cannot be satisfied"):
        download([_lock(DIGEST, "other")], tmp_path / "wheels", index)
