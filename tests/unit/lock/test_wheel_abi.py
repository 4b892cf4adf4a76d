# SPDX-License-Identifier: Apache-2.0
"""The C++ ABI of a framework's wheel is read while it is locked, without the rest of the wheel."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.lock import wheel_abi
from cannery.lock.lock_file import LockedFile, LockedWheel
from cannery.lock.wheel_abi import WheelAbis
from tests.unit.http_servers import Handler, answering
from tests.unit.matrices import load

OLD, NEW = b"_ZN3c105ErrorESs", b"_ZN3c105ErrorENSt7__cxx1112basic_stringIcE"
LIBRARY = "torch/lib/libc10.so"
BLOCK = 1 << 12


def wheel(library: bytes, name: str = LIBRARY) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number in range(3):
            archive.writestr(f"torch/lib/{number}.so", bytes(100_000))
        archive.writestr(name, b"\0" + library + b"\0")
    return made.getvalue()


class Index(Handler):
    files: ClassVar[dict[str, bytes]] = {}
    has_ranges = True
    login = ""

    def answer(self) -> None:
        if self.login and self.headers["Authorization"] != self.login:
            return self.reply(401, b"")
        body = self.files.get(self.path, b"")
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        if not body:
            return self.reply(404, b"")
        start = int(asked[1]) if asked and self.has_ranges else 0
        headers = {"Content_Type": "application/octet-stream"}
        if start:
            headers["Content_Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        try:
            self.reply(206 if start else 200, body[start:], **headers)
        except OSError:  # the client has what it wants
            self.close_connection = True
        return None


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(wheel_abi, "_BLOCK", BLOCK)
    with answering(Index) as address:
        yield address


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return load(tmp_path).targets["full"]


LOCKED = LockedWheel(
    name="torch",
    version="2.3.1+cpu",
    files=(LockedFile(name="torch-2.3.1+cpu-cp39-cp39-linux_aarch64.whl", sha256="0" * 64),),
    parents=frozenset(),
    groups=frozenset({"torch"}),
)


def check(target: Target, url: str, index_url: str = "") -> None:
    WheelAbis(PackageIndex(ca=None, index_url=index_url)).check(target, LOCKED, url)


def refused(target: Target, url: str) -> str:
    with pytest.raises(MatrixError) as caught:
        check(target, url)
    return str(caught.value)


def test_an_equal_abi_passes_and_little_of_the_wheel_is_read(
    index: str, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = wheel(OLD)
    monkeypatch.setattr(Index, "files", {"/torch.whl": body})
    read: list[int] = []
    plain = wheel_abi._Distant.readinto

    def noted(self: wheel_abi._Distant, buffer: memoryview) -> int:
        read.append(plain(self, buffer))
        return read[-1]

    monkeypatch.setattr(wheel_abi._Distant, "readinto", noted)
    assert target.cxx_abi == 0
    check(target, f"{index}/torch.whl")
    assert 0 < sum(read) < len(body) / 10


@pytest.mark.parametrize(
    ("library", "known", "said", "row"),
    [
        (NEW, 0, "is 1, and compat.yaml says 0.", '{torch: "==2.3.1", machine: aarch64, abi: 1,'),
        (OLD, 1, "is 0, and compat.yaml says 1.", '{torch: "==2.3.1", machine: aarch64, abi: 0,'),
        (NEW, None, "is 1, and compat.yaml has no row for it.", "abi: 1, source: ...}"),
    ],
)
def test_another_abi_is_an_error_that_names_the_row(
    index: str,
    target: Target,
    monkeypatch: pytest.MonkeyPatch,
    library: bytes,
    known: int | None,
    said: str,
    row: str,
) -> None:
    monkeypatch.setattr(Index, "files", {"/torch.whl": wheel(library)})
    text = refused(replace(target, cxx_abi=known), f"{index}/torch.whl")
    assert text.startswith("matrix.yaml:")
    assert f"C++ ABI of {LOCKED.files[0].name}" in text
    assert said in text and row in text


UNREADABLE = {
    "no such file": ({}, "it does not have the file (404)"),
    "no zip": ({"/torch.whl": b"x" * 9999}, "it is damaged (File is not a zip file)"),
    "another wheel": ({"/torch.whl": wheel(OLD, "torch/x.so")}, f"it has no {LIBRARY}"),
    "no C++": ({"/torch.whl": wheel(b"main")}, "are of both ABIs or of none"),
    "both ABIs": ({"/torch.whl": wheel(OLD + b"\0" + NEW)}, "are of both ABIs or of none"),
}


@pytest.mark.parametrize(("files", "why"), UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_wheel_is_an_error_only_if_nothing_else_tells_its_abi(
    index: str,
    target: Target,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    files: dict[str, bytes],
    why: str,
) -> None:
    monkeypatch.setattr(Index, "files", files)
    check(target, f"{index}/torch.whl")
    said = capsys.readouterr().err
    assert why in said and "By compat.yaml it is 0." in said
    text = refused(replace(target, cxx_abi=None), f"{index}/torch.whl")
    assert why in text and "add a row of cxx_abi for it" in text


def test_a_wheel_may_be_a_file_of_this_machine(target: Target, tmp_path: Path) -> None:
    path = tmp_path / "a torch+cpu.whl"
    path.write_bytes(wheel(NEW))
    assert "is 1, and compat.yaml says 0." in refused(target, path.as_uri())
    path.unlink()
    unknown = replace(target, cxx_abi=None)
    assert "could not be read: [Errno 2] No such file" in refused(unknown, path.as_uri())


def test_a_server_without_ranges_is_said(
    index: str, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Index, "files", {"/torch.whl": wheel(OLD)})
    monkeypatch.setattr(Index, "has_ranges", False)
    text = refused(replace(target, cxx_abi=None), f"{index}/torch.whl")
    assert "its server sends whole files only" in text


def test_the_login_of_the_index_is_sent_to_its_own_server_only(
    index: str, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Index, "files", {"/torch.whl": wheel(OLD)})
    monkeypatch.setattr(Index, "login", "Basic bWU6c2VjcmV0")
    with pytest.raises(MatrixError, match="is 0, and compat") as caught:
        check(unknown := replace(target, cxx_abi=None), f"{index}/torch.whl", own(index))
    with pytest.raises(MatrixError, match="it asks for a login") as other:
        check(unknown, f"{index}/torch.whl", own("http://example.com"))
    assert "secret" not in f"{caught.value}{other.value}"


def own(index: str) -> str:
    return index.replace("://", "://me:secret@")
