# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

import pytest

from cannery.common.files import extract


@pytest.fixture(params=["with the filter", "without the filter"], autouse=True)
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python that has tarfile's filter for data, and one that has not."""
    if request.param == "without the filter":
        if sys.version_info >= (3, 12):
            pytest.skip("every Python 3.12 and newer has the filter")
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    elif not hasattr(tarfile, "data_filter"):
        pytest.skip("this Python has no filter")


def archive_of(*members: tarfile.TarInfo) -> tarfile.TarFile:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    written.seek(0)
    return tarfile.open(fileobj=written)


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    made.size = 3 if kind == tarfile.REGTYPE else 0
    return made


def test_files_folders_and_links_inside_are_extracted(tmp_path: Path) -> None:
    members = (
        member("a/b"),
        member("c", tarfile.DIRTYPE),
        member("c/soft", tarfile.SYMTYPE, "../a/b"),
        member("c/hard", tarfile.LNKTYPE, "a/b"),
    )
    with archive_of(*members) as archive:
        extract(archive, tmp_path / "tree")
    assert (tmp_path / "tree" / "c" / "soft").read_bytes() == b"xxx"
    assert (tmp_path / "tree" / "c" / "hard").read_bytes() == b"xxx"


@pytest.mark.parametrize(
    "bad",
    [
        member("../outside"),
        member("soft", tarfile.SYMTYPE, "../outside"),
        member("soft", tarfile.SYMTYPE, "/etc/passwd"),
        member("hard", tarfile.LNKTYPE, "../outside"),
        member("pipe", tarfile.FIFOTYPE),
        member("device", tarfile.CHRTYPE),
    ],
    ids=lambda bad: f"{bad.name} {bad.linkname}",
)
def test_nothing_is_written_outside(bad: tarfile.TarInfo, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("kept")
    with archive_of(bad) as archive, pytest.raises(tarfile.TarError):
        extract(archive, tmp_path / "tree")
    assert (tmp_path / "outside").read_text() == "kept"
    assert not any((tmp_path / "tree").glob("*"))


def test_a_file_behind_a_link_is_not_written(tmp_path: Path) -> None:
    """Each member is checked after those before it were extracted."""
    (tmp_path / "other").mkdir()
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "way").symlink_to(tmp_path / "other")
    with archive_of(member("way/file")) as archive, pytest.raises(tarfile.TarError):
        extract(archive, tmp_path / "tree")
    assert not any((tmp_path / "other").iterdir())
