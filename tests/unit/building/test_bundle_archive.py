# SPDX-License-Identifier: Apache-2.0
"""The file of a bundle: what was packed comes out again, and one changed bit is refused."""

from __future__ import annotations

import errno
import os
import tarfile
from pathlib import Path

import pytest

from cannery.building.bundle.archive import MANIFEST, Contents, pack, require_place, unpack
from cannery.common.errors import ArtifactError, FileError
from cannery.common.files import own_mark

CONTENTS = Contents(
    simulate=True, targets={"a": "1" * 64}, images={"b": f"sha256:{'2' * 64}"}, commit="c" * 40
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "wheels").mkdir(parents=True)
    (folder / "wheels" / "one.whl").write_bytes(b"wheel" * 100)
    (folder / "script").write_text("#!/bin/sh\n")
    (folder / "script").chmod(0o755)
    (folder / "link").symlink_to("script")
    return folder


@pytest.fixture
def bundle(tree: Path, tmp_path: Path) -> Path:
    file = tmp_path / "x.bundle"
    assert pack(tree, CONTENTS, file) == file.stat().st_size
    return file


def test_what_was_packed_comes_out_again(bundle: Path, tree: Path, tmp_path: Path) -> None:
    folder, contents = unpack(bundle, tmp_path / "out")
    assert contents == CONTENTS
    assert (folder / "wheels" / "one.whl").read_bytes() == b"wheel" * 100
    assert os.access(folder / "script", os.X_OK)
    assert (folder / "link").readlink() == Path("script")
    names = {path.name for path in folder.rglob("*")}
    assert names == {path.name for path in tree.rglob("*")} | {MANIFEST}


def test_equal_files_give_an_equal_bundle(bundle: Path, tree: Path, tmp_path: Path) -> None:
    for path in tree.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    again = tmp_path / "again"
    pack(tree, CONTENTS, again)
    assert again.read_bytes() == bundle.read_bytes()


def test_tar_lists_it(bundle: Path) -> None:
    with tarfile.open(bundle) as archive:
        assert archive.getnames()[0] == MANIFEST


def test_any_changed_byte_is_refused(bundle: Path, tmp_path: Path) -> None:
    """Each block has one: headers, contents, padding, the end of the archive, the last block."""
    good = bundle.read_bytes()
    for number in range(0, len(good), 101):
        bad = bytearray(good)
        bad[number] ^= 1
        bundle.write_bytes(bad)
        with pytest.raises(ArtifactError, match=r"is not a complete bundle|was changed after"):
            unpack(bundle, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("length", [0, 1, 511, 512, 513, 4096, -1])
def test_half_a_bundle_is_refused(bundle: Path, tmp_path: Path, length: int) -> None:
    bundle.write_bytes(bundle.read_bytes()[:length])
    with pytest.raises(ArtifactError, match="is not a complete bundle") as error:
        unpack(bundle, tmp_path / "out")
    assert "Copy the bundle again" in str(error.value)


def test_no_such_bundle(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read"):
        unpack(tmp_path / "none", tmp_path / "out")


def test_a_folder_that_cannot_be_written(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot write"):
        require_place(tmp_path / "file" / "x.bundle")
    with pytest.raises(FileError, match="cannot write"):
        require_place(tree)
    with pytest.raises(FileError, match="cannot write"):
        require_place(tmp_path / "none" / "x.bundle")
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


def test_it_is_unpacked_once(bundle: Path, tmp_path: Path) -> None:
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
