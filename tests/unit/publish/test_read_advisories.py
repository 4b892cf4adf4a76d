# SPDX-License-Identifier: Apache-2.0
"""Databases as files, folders, archives and servers, and what is wrong with them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cannery.common.errors import CanneryError, EngineError, FileError, UsageError
from cannery.publish.scan.advisories import Database
from cannery.publish.scan.advisory_download import read_advisories
from tests.unit.http_servers import Handler, answering
from tests.unit.scans import OSV, TORCH, advisory, component, database

TEXT = json.dumps(advisory())
FOLDERS = {"PyPI": "PYSEC-", "Debian": "D"}


def archive(path: Path, members: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


def osv_archive(path: Path, prefix: str) -> Path:
    files = OSV.glob(f"{prefix}*.json")
    return archive(path, {each.name: each.read_bytes() for each in files})


def count(*sources: Path | str) -> int:
    return database([component(TORCH)], *sources).count


def problems(kind: type[CanneryError], *sources: Path | str) -> list[str]:
    with pytest.raises(kind) as caught:
        count(*sources)
    return [str(each) for each in caught.value.problems]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    for ecosystem, prefix in FOLDERS.items():
        (tmp_path / ecosystem).mkdir()
        osv_archive(tmp_path / ecosystem / "all.zip", prefix)

    class Mirror(Handler):
        def answer(self) -> None:
            path = tmp_path / self.path.partition("?")[0].lstrip("/")
            found = path.is_file()
            self.reply(200 if found else 404, path.read_bytes() if found else b"")

    with answering(Mirror) as address:
        yield address


def test_a_folder_a_file_and_an_archive(tmp_path: Path) -> None:
    assert count(OSV) == 9
    assert count(OSV / "PYSEC-2025-41.json") == 1
    assert count(osv_archive(tmp_path / "all.zip", "PYSEC")) == 3
    assert count(OSV / "PYSEC-2025-41.json", tmp_path) == 3


@pytest.mark.parametrize("text", [f"[{TEXT}]", f'{{"vulns": [{TEXT}]}}', "\ufeff" + TEXT])
def test_other_forms_of_a_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    assert count(path) == 1


def test_a_server_has_an_archive_for_each_ecosystem(server: str) -> None:
    found = Database({("PyPI", "torch"), ("Debian:11", "glibc")})
    read_advisories([server + "/"], found, {"PyPI", "Debian"}, None)
    assert [each.id for each in found.for_package("PyPI", "torch")] == ["PYSEC-2025-41"]
    assert len(found.for_package("Debian:11", "glibc")) == 2


def test_a_server_may_be_asked_for_one_file(server: str) -> None:
    assert count(f"{server}/PyPI/all.zip") == 3


def test_a_server_that_does_not_have_it_is_named_without_its_login(server: str) -> None:
    secret = server.replace("//", "//user:secret@")
    with pytest.raises(EngineError) as caught:
        read_advisories([secret], Database(()), {"Ubuntu"}, None)
    said = str(caught.value)
    assert said.startswith(f"{server}/Ubuntu/all.zip could not be downloaded: ")
    assert "404" in said
    assert "secret" not in said


def test_what_does_not_exist_is_named(tmp_path: Path) -> None:
    [said] = problems(UsageError, tmp_path / "none")
    assert said.startswith(f"there is no file {tmp_path}/none, named with --database.")
    [said] = problems(UsageError, tmp_path)
    assert said.startswith(f"the folder {tmp_path} has no advisories.")
    (tmp_path / "x.txt").touch()
    [said] = problems(UsageError, tmp_path / "x.txt")
    assert said.startswith(f"{tmp_path}/x.txt is not a file of advisories.")


def test_all_that_is_wrong_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{\n  "id": }', encoding="utf-8")
    (tmp_path / "b.json").write_bytes(b"\xff")
    (tmp_path / "c.json").write_text(f'[{TEXT}, {{"id": 7}}]', encoding="utf-8")
    (tmp_path / "d.json").write_text("[" * 100_000, encoding="utf-8")
    (tmp_path / "e.zip").write_text("no archive", encoding="utf-8")
    archive(tmp_path / "f.zip", {"x.json": "{}", "y.txt": "left out"})
    not_a_zip = "is not a complete zip archive: File is not a zip file. Download it again."
    assert problems(FileError, tmp_path) == [
        f"{tmp_path}/a.json:2:9: the file is not JSON: expecting value.",
        f"{tmp_path}/b.json is not UTF-8 text: invalid start byte.",
        f"{tmp_path}/c.json, record 2: 'id' is not text.",
        f"{tmp_path}/d.json is not valid: it is nested too deeply.",
        f"{tmp_path}/e.zip {not_a_zip}",
        f"{tmp_path}/f.zip/x.json: the record has no 'id'.",
    ]


@pytest.mark.parametrize("missing", [1, 100, 1000])
def test_an_archive_that_is_cut_off_is_refused(tmp_path: Path, missing: int) -> None:
    path = osv_archive(tmp_path / "all.zip", "PYSEC")
    path.write_bytes(path.read_bytes()[:-missing])
    [said] = problems(FileError, path)
    assert "is not a complete zip archive" in said


def test_a_damaged_member_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "all.zip", {"x.json": TEXT * 50})
    content = bytearray(path.read_bytes())
    content[45] ^= 0xFF
    path.write_bytes(content)
    [said] = problems(FileError, path)
    assert "is not a complete zip archive" in said
