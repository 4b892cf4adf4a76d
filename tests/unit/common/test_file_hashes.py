# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from cannery.common import files as hashes
from cannery.common.files import Hashes


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which files were read whole."""
    seen: list[str] = []
    real = hashes.sha256_of

    def note(path: Path) -> str:
        seen.append(path.name)
        return real(path)

    monkeypatch.setattr(hashes, "sha256_of", note)
    monkeypatch.setattr(hashes, "_LARGE", 4)
    return seen


def test_a_large_file_is_read_once(tmp_path: Path, read: list[str]) -> None:
    file, kept = tmp_path / "large", tmp_path / "state" / "hashes.json"
    file.write_bytes(b"large")
    for _ in range(3):
        known = Hashes(kept)
        assert known.sha256(file) == hashlib.sha256(b"large").hexdigest()
        known.keep()
    assert read == ["large"]


def test_other_content_of_the_same_size_and_date_is_read_again(
    tmp_path: Path, read: list[str]
) -> None:
    file, kept = tmp_path / "large", tmp_path / "hashes.json"
    file.write_bytes(b"large")
    known = Hashes(kept)
    known.sha256(file)
    known.keep()
    stat = file.stat()
    file.write_bytes(b"other")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert Hashes(kept).sha256(file) == hashlib.sha256(b"other").hexdigest()


def test_small_files_are_not_kept(tmp_path: Path, read: list[str]) -> None:
    (tmp_path / "small").write_bytes(b"x")
    known = Hashes(tmp_path / "hashes.json")
    known.sha256(tmp_path / "small")
    known.keep()
    assert not (tmp_path / "hashes.json").exists()


@pytest.mark.parametrize("text", ["", "[", "[]", "{}", '{"/a": 1}', '{"/a": ["x"]}', "\xff"])
def test_what_cannot_be_read_is_dropped(tmp_path: Path, read: list[str], text: str) -> None:
    file, kept = tmp_path / "large", tmp_path / "hashes.json"
    file.write_bytes(b"large")
    kept.write_bytes(text.encode("latin-1"))
    known = Hashes(kept)
    assert known.sha256(file) == hashlib.sha256(b"large").hexdigest()
    known.keep()
    assert Hashes(kept).sha256(file) and read == ["large"]


def test_a_place_that_cannot_be_written_does_no_harm(tmp_path: Path, read: list[str]) -> None:
    (tmp_path / "large").write_bytes(b"large")
    (tmp_path / "file").touch()
    known = Hashes(tmp_path / "file" / "hashes.json")
    assert known.sha256(tmp_path / "large")
    known.keep()
