# SPDX-License-Identifier: Apache-2.0
"""Files of a project are regular ones, of a size that such files have; links to them stay."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from cannery.common import documents
from cannery.common.errors import FileError
from cannery.common.files import read_text, sha256_of, write_files
from cannery.matrix.settings import read_settings


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def endless(path: Path) -> Path:
    path.symlink_to("/dev/zero")
    return path


def a_socket(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
    return path


@pytest.mark.parametrize("make", [pipe, endless, a_socket])
@pytest.mark.parametrize("read", [read_text, sha256_of, lambda p: documents.read_text(p, "x")])
def test_only_regular_files_are_read(
    tmp_path: Path, make: Callable[[Path], Path], read: Callable[[Path], object]
) -> None:
    """Nobody writes into the pipe, and a device may have no end."""
    with pytest.raises(FileError, match=r"cannot read .*: it is a device, a pipe or a socket"):
        read(make(tmp_path / "file"))


def test_a_link_to_nothing_is_no_missing_file(tmp_path: Path) -> None:
    """A missing cannery.toml is none; one that was linked to a place that is gone is a mistake."""
    (tmp_path / "cannery.toml").symlink_to("gone")
    with pytest.raises(FileError, match=r"it is a link to .*/gone, which does not exist"):
        read_settings(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "gone")


def test_a_file_larger_than_any_true_one_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    os.truncate(path, 200 << 20)
    with pytest.raises(FileError, match=r"it has more than 16 MB"):
        read_text(path)
    with pytest.raises(FileError, match=r"it has more than 4 MB"):
        documents.read_text(path, "cannery.toml")


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    real = tmp_path / "config" / "matrix.yaml"
    real.parent.mkdir()
    real.write_text("old", encoding="utf-8")
    (tmp_path / "second.yaml").symlink_to("config/matrix.yaml")
    (tmp_path / "matrix.yaml").symlink_to("second.yaml")
    write_files({tmp_path / "matrix.yaml": "new"}, root=tmp_path)
    assert (tmp_path / "matrix.yaml").readlink() == Path("second.yaml")
    assert (tmp_path / "second.yaml").is_symlink()
    assert real.read_text(encoding="utf-8") == "new"
    assert [*real.parent.iterdir()] == [real]


def dangling(root: Path) -> str:
    (root / "project/b").symlink_to("nowhere/matrix.yaml")
    return "it is a link to .*/nowhere/matrix.yaml, which does not exist"


def outside(root: Path) -> str:
    (root / "outside").write_text("theirs", encoding="utf-8")
    (root / "project/b").symlink_to("../outside")
    return "it is a link to .*/outside, which is not below .*project"


def loop(root: Path) -> str:
    (root / "project/b").symlink_to("c")
    (root / "project/c").symlink_to("b")
    return "too many levels of symbolic links"


def a_pipe(root: Path) -> str:
    pipe(root / "project/b")
    return "it is a device, a pipe or a socket"


def a_device(root: Path) -> str:
    (root / "project/null").symlink_to("/dev/null")
    (root / "project/b").symlink_to("null")
    return "it is a device, a pipe or a socket"


@pytest.mark.parametrize("make", [dangling, outside, loop, a_pipe, a_device])
def test_what_cannot_be_replaced_is_named_and_nothing_is_written(
    tmp_path: Path, make: Callable[[Path], str]
) -> None:
    (tmp_path / "project").mkdir()
    what, before = make(tmp_path), sorted(tmp_path.rglob("*"))
    names = {tmp_path / "project" / name: "new" for name in "ab"}
    with pytest.raises(FileError, match=f"cannot write .*/project/b: {what}"):
        write_files(names, root=tmp_path / "project")
    assert sorted(tmp_path.rglob("*")) == before
    if (tmp_path / "outside").exists():
        assert (tmp_path / "outside").read_text(encoding="utf-8") == "theirs"


def test_a_device_that_a_report_goes_to_is_not_replaced() -> None:
    with pytest.raises(FileError, match="cannot write /dev/null: it is a device"):
        write_files({Path("/dev/null"): "report"})
    assert Path("/dev/null").is_char_device()
