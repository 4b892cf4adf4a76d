# SPDX-License-Identifier: Apache-2.0
"""Archives from elsewhere are unpacked below their folder, or refused before that."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from cannery.common.archives import leads_out, opened
from cannery.common.errors import FileError
from tests.unit.archives import longer_than_a_path, member


def packed(folder: Path, members: Iterable[tarfile.TarInfo]) -> Path:
    """A plain archive of ``members``, whose files are of the letter x."""
    path = folder / "archive.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for info in members:
            archive.addfile(info, io.BytesIO(b"x" * info.size))
    return path


def extract(archive: Path, tree: Path) -> None:
    with opened(archive) as content:
        content.extract(tree)


def test_files_folders_and_links_inside_are_unpacked(tmp_path: Path) -> None:
    program = member("./c/program")
    program.mode = 0o4775 & 0o775
    members = (
        member(".", tarfile.DIRTYPE),
        member("a/b"),
        member("c", tarfile.DIRTYPE),
        member("c", tarfile.DIRTYPE),
        member("c/soft", tarfile.SYMTYPE, "../a/b"),
        member("c/hard", tarfile.LNKTYPE, "a/b"),
        member("again", tarfile.LNKTYPE, "c/hard"),
        member("nothing", tarfile.SYMTYPE, "a/nothing"),
        program,
    )
    extract(packed(tmp_path, members), tmp_path / "tree")
    tree = tmp_path / "tree"
    assert {str(path.relative_to(tree)) for path in tree.rglob("*")} == {
        *("a", "a/b", "again", "c", "c/soft", "c/hard", "c/program", "nothing")
    }
    assert (tree / "c" / "soft").read_bytes() == b"xxx"
    assert (tree / "a" / "b").stat().st_nlink == 3
    assert (tree / "c" / "program").stat().st_mode & 0o7777 == 0o755
    assert (tree / "a" / "b").stat().st_mode & 0o7777 == 0o644


def with_mode(mode: int) -> tarfile.TarInfo:
    made = member("program")
    made.mode = mode
    return made


def with_pax(**headers: str) -> tarfile.TarInfo:
    made = member("file")
    made.pax_headers = {name.replace("_", "."): text for name, text in headers.items()}
    return made


SOFT, HARD = tarfile.SYMTYPE, tarfile.LNKTYPE
BAD = {
    "links that are longer than PATH_MAX": longer_than_a_path("."),
    "two dots": [member("../victim")],
    "dots in the middle": [member("a/../../victim")],
    "an absolute name": [member("/tmp/victim")],
    "a link outside": [member("soft", SOFT, "../victim")],
    "an absolute link": [member("soft", SOFT, "/etc/passwd")],
    "a link to nothing": [member("soft", SOFT, "")],
    "a link that goes down and up": [
        member("a/b/c/up", SOFT, "../../.."),
        member("a/b/c/d/out", SOFT, "../up/../victim"),
    ],
    "a file below a link": [member("a/b"), member("way", SOFT, "a"), member("way/victim")],
    "a link in place of a folder": [member("a/b"), member("a", SOFT, "c")],
    "a file below a file": [member("a"), member("a/b")],
    "a file twice": [member("a"), member("./a")],
    "a file in place of a link": [member("a", SOFT, "b"), member("a")],
    "a hard link outside": [member("hard", HARD, "../victim")],
    "an absolute hard link": [member("etc/passwd"), member("hard", HARD, "/etc/passwd")],
    "a hard link to nothing": [member("hard", HARD, "nothing")],
    "a hard link to a link": [member("soft", SOFT, "a"), member("hard", HARD, "soft")],
    "a hard link to a later file": [member("hard", HARD, "a"), member("a")],
    "a pipe": [member("pipe", tarfile.FIFOTYPE)],
    "a device": [member("device", tarfile.CHRTYPE)],
    "a disk": [member("device", tarfile.BLKTYPE)],
    "setuid": [with_mode(0o4755)],
    "setgid": [with_mode(0o2755)],
    "a name of NUL": [with_pax(path="a\0b")],
    "a long name": [member("a" * 256)],
    "a long path": [member("/".join(["a" * 99] * 12))],
    "a long link": [member("soft", SOFT, "a/" * 3000)],
    "a deep path": [member("/".join("a" * 40))],
    "a sparse file": [with_pax(GNU_sparse_major="0", GNU_sparse_size="9" * 15)],
    "a number of a thousand digits": [with_pax(size="9" * 1000)],
    "a file as the folder": [member(".")],
}


@pytest.mark.parametrize("members", BAD.values(), ids=BAD)
def test_an_archive_with_a_bad_member_is_refused_before_anything_is_unpacked(
    members: list[tarfile.TarInfo], tmp_path: Path
) -> None:
    (tmp_path / "victim").write_text("kept")
    archive = packed(tmp_path, [member("good"), *members])
    with pytest.raises(tarfile.TarError):
        extract(archive, tmp_path / "tree")
    assert {*tmp_path.iterdir()} == {tmp_path / "victim", archive}
    assert (tmp_path / "victim").read_text() == "kept"


def header(**fields: bytes) -> bytes:
    """The header of a file, with other bytes in the fields ``size`` and ``kind``."""
    made = bytearray(member("file").tobuf(tarfile.USTAR_FORMAT))
    for name, (start, end) in {"size": (124, 136), "kind": (156, 157)}.items():
        made[start:end] = fields.get(name, made[start:end])
    made[148:156] = b" " * 8
    made[148:156] = b"%06o\0 " % sum(made)
    return bytes(made)


NEGATIVE = b"\xff" * 10 + b"\xfe\x00"
HUGE = b"\x80" + b"\x00" * 4 + b"\x7f" * 7


@pytest.mark.parametrize("kind", [b"0", b"x", b"g", b"L", b"S", b"5"], ids=bytes.decode)
@pytest.mark.parametrize("size", [NEGATIVE, HUGE], ids=["negative", "huge"])
def test_a_header_with_a_size_that_nothing_has_is_refused(
    size: bytes, kind: bytes, tmp_path: Path
) -> None:
    """One with a negative size leads tarfile back to the same header, again and again."""
    archive = tmp_path / "archive.tar"
    archive.write_bytes(header() + b"xxx".ljust(512, b"\0") + header(size=size, kind=kind) * 20)
    with pytest.raises(tarfile.TarError):
        extract(archive, tmp_path / "tree")


def test_a_chain_of_headers_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "archive.tar"
    archive.write_bytes(header(size=b"00000000000\0", kind=b"x") * 5000)
    with pytest.raises(tarfile.TarError):
        extract(archive, tmp_path / "tree")


def test_a_header_for_all_members_is_refused(tmp_path: Path) -> None:
    """tarfile gives a copy of it to each member, so that a small archive needs GBs."""
    bundle = tmp_path / "bundle.tar"
    with tarfile.open(bundle, "w", pax_headers={"comment": "for all"}) as archive:
        archive.addfile(tarfile.TarInfo("a"))
    with pytest.raises(tarfile.TarError, match="a header for all members"), opened(bundle):
        pass


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cannery.common.archives._MOST_MEMBERS", 2)
    with pytest.raises(tarfile.TarError, match="'c' is one more than 2 members"):
        extract(packed(tmp_path, map(member, "abc")), tmp_path / "tree")


def test_a_link_that_another_user_puts_in_the_way_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    make = os.mkdir

    def mkdir(name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        make(name, mode, dir_fd=dir_fd)
        if name == "way":
            (tmp_path / "tree" / "way").rmdir()
            (tmp_path / "tree" / "way").symlink_to(other)

    monkeypatch.setattr(os, "mkdir", mkdir)
    with pytest.raises(OSError, match=r"directory|symbolic"):
        extract(packed(tmp_path, [member("way/file")]), tmp_path / "tree")
    assert not any(other.iterdir())


def test_an_archive_that_ends_in_a_file_is_refused(tmp_path: Path) -> None:
    archive = packed(tmp_path, [member("a"), member("b")])
    archive.write_bytes(archive.read_bytes()[: 3 * 512 + 1])
    with pytest.raises(tarfile.TarError):
        extract(archive, tmp_path / "tree")
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(tarfile.TarError):
        extract(tmp_path / "text", tmp_path / "other")
    with pytest.raises(FileError, match="cannot read"):
        extract(tmp_path / "nothing", tmp_path / "other")


@pytest.mark.parametrize(
    ("name", "target", "leads"),
    [
        ("a", "b", False),
        ("a", ".", False),
        ("a", "..", True),
        ("a/b", "..", False),
        ("a/b", "../..", True),
        ("a/b", "../c/d", False),
        ("a/b", "c/../d", True),
        ("a/b", "./../c", False),
        ("a/b/c", ".././../d", False),
        ("a/b/c", "/d", True),
    ],
)
def test_a_link_goes_up_only_first_and_not_out(name: str, target: str, leads: bool) -> None:
    assert leads_out(name, target) == leads
