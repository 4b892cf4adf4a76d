# SPDX-License-Identifier: Apache-2.0
"""The file of a bundle: what was packed comes out again, and nothing is written elsewhere."""

from __future__ import annotations

import errno
import io
import json
import os
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cannery.building.bundle.archive import MANIFEST, Contents, pack, require_place, unpack
from cannery.common.errors import ArtifactError, FileError
from cannery.common.files import own_mark, sha256_of

CONTENTS = Contents(simulate=True, targets={"a": "1" * 64}, commit="c" * 40, engine="29.1.0")
GOOD: dict[str, Any] = {
    "schema": 3,
    "simulate": True,
    "targets": {"py39": "0" * 64},
    "commit": "c" * 40,
    "engine": "29.1.0",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "checkout").mkdir(parents=True)
    (folder / "checkout" / "one.whl").write_bytes(b"wheel" * 100)
    (folder / "checkout" / MANIFEST).write_text("another")
    (folder / "script").write_text("#!/bin/sh\n")
    (folder / "script").chmod(0o755)
    (folder / "link").symlink_to("script")
    return folder


@pytest.fixture
def bundle(tree: Path, tmp_path: Path) -> Path:
    file = tmp_path / "x.bundle"
    assert pack(tree, CONTENTS, file) == sha256_of(file)
    return file


def archive_of(path: Path, *members: tarfile.TarInfo, **files: bytes) -> Path:
    """A tar archive with ``members``, and then with ``files``."""
    with tarfile.open(path, "w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
        for name, content in files.items():
            info = tarfile.TarInfo(name.replace("_", "."))
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def test_a_bundle_is_unpacked_as_it_was_packed(bundle: Path, tree: Path, tmp_path: Path) -> None:
    folder, contents = unpack(bundle, tmp_path / "out")
    assert contents == CONTENTS
    assert (folder / "checkout" / "one.whl").read_bytes() == b"wheel" * 100
    assert (folder / "checkout" / MANIFEST).read_text() == "another"
    assert os.access(folder / "script", os.X_OK)
    assert (folder / "link").readlink() == Path("script")


def test_equal_files_give_an_equal_bundle(bundle: Path, tree: Path, tmp_path: Path) -> None:
    for path in tree.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    again = tmp_path / "again"
    pack(tree, CONTENTS, again)
    assert again.read_bytes() == bundle.read_bytes()


@pytest.mark.parametrize("length", [0, 1, 511, 513, 2048, 4096])
def test_an_incomplete_bundle_is_refused(bundle: Path, tmp_path: Path, length: int) -> None:
    bundle.write_bytes(bundle.read_bytes()[:length])
    with pytest.raises(ArtifactError, match="is not a valid bundle") as error:
        unpack(bundle, tmp_path / "out")
    assert "Copy the bundle again" in str(error.value)
    assert [*(tmp_path / "out").iterdir()] == []


def test_no_such_bundle(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read"):
        unpack(tmp_path / "none", tmp_path / "out")


def _link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def _file(name: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = 1
    return member


@pytest.mark.parametrize(
    "members",
    [
        [_file("../outside")],
        [_file("a/../../outside")],
        [_link("a", "..")],
        [_link("a", ".."), _file("a/outside")],
        [_link("a", "../outside")],
        [_link("a", "/etc"), _file("a/outside")],
        [_link("a", "../outside", tarfile.LNKTYPE)],
        [_link("device", "", tarfile.CHRTYPE)],
        [_link("pipe", "", tarfile.FIFOTYPE)],
    ],
)
def test_nothing_is_written_outside_of_the_folder(
    tmp_path: Path, members: list[tarfile.TarInfo]
) -> None:
    bundle = archive_of(tmp_path / "x", *members, manifest_json=json.dumps(GOOD).encode())
    with pytest.raises(ArtifactError, match="is not a valid bundle"):
        unpack(bundle, tmp_path / "a" / "out")
    assert {*tmp_path.rglob("*")} == {tmp_path / "x", tmp_path / "a", tmp_path / "a" / "out"}


def test_an_absolute_name_stays_in_the_folder(tmp_path: Path) -> None:
    place = tmp_path / "outside"
    bundle = archive_of(tmp_path / "x", _file(str(place)), manifest_json=json.dumps(GOOD).encode())
    with suppress(ArtifactError):
        unpack(bundle, tmp_path / "out")
    assert not place.exists()


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[" * 100_000,
        [],
        "text",
        {},
        {**GOOD, "schema": [1]},
        {name: value for name, value in GOOD.items() if name != "simulate"},
        {**GOOD, "simulate": "yes"},
        {**GOOD, "targets": []},
        {**GOOD, "targets": {"../x": "0" * 64}},
        {**GOOD, "targets": {"py39": 7}},
        {**GOOD, "commit": "\x1b[2J"},
        {**GOOD, "engine": None},
    ],
)
def test_an_invalid_manifest_is_refused(tmp_path: Path, manifest: object) -> None:
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    bundle = archive_of(tmp_path / "x", manifest_json=text)
    with pytest.raises(ArtifactError, match=r"is not a valid bundle|of another version"):
        unpack(bundle, tmp_path / "out")
    assert [*(tmp_path / "out").iterdir()] == []


def test_a_folder_that_cannot_be_written(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "x.bundle", tree, tmp_path / "none" / "x.bundle"):
        with pytest.raises(FileError, match="cannot write"):
            require_place(place)
    assert not (tmp_path / "none").exists()
    with pytest.raises(FileError, match="cannot write"):
        pack(tree, CONTENTS, tmp_path / "file" / "x.bundle")


def test_a_full_disk_leaves_the_old_bundle(
    bundle: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bundle.read_bytes()
    (tree / "more").write_text("more")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="no space left"):
        pack(tree, CONTENTS, bundle)
    assert bundle.read_bytes() == before
    assert [path.name for path in bundle.parent.glob("*bundle*")] == [bundle.name]


def test_a_bundle_is_unpacked_once(bundle: Path, tmp_path: Path) -> None:
    folder, _ = unpack(bundle, tmp_path / "out")
    before = (folder / "script").stat().st_ino
    again, _ = unpack(bundle, tmp_path / "out")
    assert (again / "script").stat().st_ino == before
    assert [path.name for path in (tmp_path / "out").iterdir()] == [folder.name]


def test_half_a_bundle_of_a_killed_run_is_removed(tree: Path, tmp_path: Path) -> None:
    killed = own_mark().replace(f":{os.getpid()}:", ":1:")
    (tmp_path / f".x.bundle.{killed}").write_bytes(b"half")
    (tmp_path / ".x.bundle.of-somebody-else").write_bytes(b"whole")
    pack(tree, CONTENTS, tmp_path / "x.bundle")
    left = {path.name for path in tmp_path.glob(".x*")}
    assert left == {".x.bundle.of-somebody-else"}
