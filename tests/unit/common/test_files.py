# SPDX-License-Identifier: Apache-2.0
"""write_files changes everything that it was asked to, or nothing; files are linked or copied."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from cannery.common import files
from cannery.common.errors import FileError
from cannery.common.files import (
    LEFTOVER,
    Hashes,
    is_gone,
    link_or_copy,
    own_mark,
    put_files,
    temporary_folder,
    write_files,
)
from tests.unit.matrices import CHECKOUT, tree

FULL_DISK = f"""
import sys
sys.path.insert(0, {str(CHECKOUT)!r})
from pathlib import Path
from cannery.common import files
from cannery.common.errors import FileError
from cannery.common.files import write_files
root = Path(sys.argv[1])
(root / "a").write_text("old a")
(root / "b").write_text("old b")
try:
    write_files({{root / "a": "new a", root / "sub" / "b": "b" * 300_000}})
except FileError as error:
    print(error)
print({{p.name: p.read_text() for p in root.iterdir()}})
"""


def test_files_and_folders_are_made_and_replaced(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("before", encoding="utf-8")
    write_files({tmp_path / "old": "after\n", tmp_path / "a" / "b" / "new": "é\n"})
    assert tree(tmp_path) == {"old": b"after\n", "a/b/new": "é\n".encode()}


@pytest.mark.parametrize(("text", "mode"), [("#!/bin/sh\n", 0o755), ("# text\n", 0o644)])
def test_a_program_can_be_run_whatever_the_mask(tmp_path: Path, text: str, mode: int) -> None:
    before = os.umask(0o077)
    try:
        write_files({tmp_path / "file": text})
        write_files({tmp_path / "file": text + "more\n"})
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_empty_folders_of_removed_files_are_removed(tmp_path: Path) -> None:
    gone = [tmp_path / "gone" / "file", tmp_path / "gone" / "wheels" / "file"]
    write_files(dict.fromkeys([*gone, tmp_path / "kept" / "file"], "text"))
    write_files({}, remove=gone)
    assert tree(tmp_path) == {"kept/file": b"text"}


def a_file_for_a_folder(root: Path) -> Path:
    (root / "file").write_text("in the way", encoding="utf-8")
    return root / "file" / "sub" / "new"


def a_folder_for_a_file(root: Path) -> Path:
    (root / "folder" / "full").mkdir(parents=True)
    return root / "folder"


def a_name_that_is_too_long(root: Path) -> Path:
    return root / "new" / ("x" * 300)


def a_folder_that_cannot_be_written(root: Path) -> Path:
    if os.geteuid() == 0:
        return Path("/proc/self/fdinfo/new")
    (root / "locked").mkdir(mode=0o500)
    return root / "locked" / "new"


@pytest.mark.parametrize(
    "hurdle",
    [
        a_file_for_a_folder,
        a_folder_for_a_file,
        a_name_that_is_too_long,
        a_folder_that_cannot_be_written,
    ],
)
def test_a_later_failure_changes_nothing(tmp_path: Path, hurdle: object) -> None:
    assert callable(hurdle)
    bad = hurdle(tmp_path)
    (tmp_path / "first").write_text("before", encoding="utf-8")
    (tmp_path / "orphan").write_text("before", encoding="utf-8")
    before = tree(tmp_path)
    wanted = {tmp_path / "first": "after", tmp_path / "made" / "second": "new", bad: "new"}
    with pytest.raises(FileError) as caught:
        write_files(wanted, remove=[tmp_path / "orphan"])
    assert tree(tmp_path) == before
    assert str(caught.value).startswith(f"cannot write {bad}: ")
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, MemoryError])
def test_an_interruption_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
) -> None:
    (tmp_path / "first").write_text("before", encoding="utf-8")
    real, calls = os.fsync, iter(range(9))

    def fsync(handle: int) -> None:
        if next(calls) == 1:
            raise interruption
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(interruption):
        write_files({tmp_path / "first": "after", tmp_path / "sub" / "second": "after"})
    assert tree(tmp_path) == {"first": b"before"}


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    mount = 'mount -t tmpfs -o size=128k tmpfs "$1"'
    space = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    probe = [*space, "sh", "-c", mount, "sh", str(tmp_path)]
    known = shutil.which("unshare")
    if not known or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount a small disk (unshare --mount)")
    argv = [*space, "sh", "-c", mount + ' && exec "$2" -c "$3" "$1"', "sh", str(tmp_path)]
    done = subprocess.run(
        [*argv, sys.executable, FULL_DISK], capture_output=True, text=True, check=True
    )
    message, left = done.stdout.splitlines()
    assert message.startswith(f"cannot write {tmp_path}/sub/b: no space left on device.")
    assert left == str({"a": "old a", "b": "old b"}) or left == str({"b": "old b", "a": "old a"})


def other_disk(*_: object) -> None:
    raise OSError(18, "cross-device link")


def test_a_file_on_another_disk_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("content", encoding="utf-8")
    monkeypatch.setattr(os, "link", other_disk)
    link_or_copy(tmp_path / "a", tmp_path / "b")
    assert tree(tmp_path) == {"a": b"content", "b": b"content"}


def test_the_file_behind_a_symbolic_link_is_linked(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("content", encoding="utf-8")
    (tmp_path / "link").symlink_to("a")
    put_files({"b": tmp_path / "link"}, tmp_path / "folder")
    [put] = (tmp_path / "folder").iterdir()
    assert not put.is_symlink()
    assert put.samefile(tmp_path / "a")


def together(root: Path, work: Callable[[Path, int], None], rounds: int = 100) -> list[Path]:
    """Let four threads do ``work`` in a folder at the same moment, ``rounds`` times."""
    start = Barrier(4, timeout=30)
    failures: list[Exception] = []

    def one(number: int) -> None:
        for each in range(rounds):
            start.wait()
            try:
                work(root / str(each), number)
            except Exception as error:  # noqa: BLE001 - the test tells of it
                failures.append(error)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(one, number) for number in range(4)]:
            done.result()
    assert not failures, f"{len(failures)} of {4 * rounds}, the first: {failures[0]}"
    return [root / str(each) for each in range(rounds)]


def test_one_removes_the_folder_into_which_another_writes(tmp_path: Path) -> None:
    def work(folder: Path, number: int) -> None:
        own = folder / "sub" / str(number)
        write_files({own: "text\n"})
        if number:
            write_files({}, remove=[own])

    assert all(tree(folder) == {"sub/0": b"text\n"} for folder in together(tmp_path, work))


def test_a_writer_that_fails_takes_no_folder_from_another(tmp_path: Path) -> None:
    def work(folder: Path, number: int) -> None:
        texts = {folder / "sub" / str(number): "text\n"}
        if number % 2:
            with pytest.raises(FileError, match="file name too long"):
                write_files({**texts, folder / ("x" * 300): "text"})
        else:
            write_files(texts)

    expected = {"sub/0": b"text\n", "sub/2": b"text\n"}
    assert all(tree(folder) == expected for folder in together(tmp_path, work))


def test_files_cannot_be_put_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(FileError, match="cannot write"):
        put_files({"b": tmp_path / "file"}, tmp_path / "file")


@pytest.mark.parametrize("linked", [True, False])
def test_many_put_the_same_file_into_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    if not linked:
        monkeypatch.setattr(os, "link", other_disk)
    (tmp_path / "source").write_text("content", encoding="utf-8")

    def work(folder: Path, _: int) -> None:
        put_files({"a": tmp_path / "source"}, folder)

    assert all(tree(folder) == {"a": b"content"} for folder in together(tmp_path / "to", work))


def test_an_existing_link_stays(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("content", encoding="utf-8")
    link_or_copy(tmp_path / "a", tmp_path / "b")
    before = (tmp_path / "a").stat().st_ctime_ns
    link_or_copy(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a").stat().st_ctime_ns == before, "a new link changes the file"


def test_leftovers_of_a_killed_run_are_removed_by_the_next(tmp_path: Path) -> None:
    gone = own_mark().replace(f":{os.getpid()}:", ":1:")
    for mark in (gone, own_mark()):
        (tmp_path / f".{mark}:abcdefgh{LEFTOVER}").touch()
    write_files({tmp_path / "file": "text"})
    assert {*tree(tmp_path)} == {"file", f".{own_mark()}:abcdefgh{LEFTOVER}"}


@pytest.mark.slow
def test_old_leftovers_of_a_killed_run_are_removed_and_other_files_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cannery.common.files.LEFTOVER_AGE", 1)
    old, young, foreign = (
        tmp_path / f".file.abcdefgh{LEFTOVER}",
        tmp_path / f".file.bcdefghi{LEFTOVER}",
        tmp_path / ".file.abcdefgh",
    )
    old.touch()
    foreign.touch()
    time.sleep(1.1)
    young.touch()
    write_files({tmp_path / "other": "text"})
    assert {*tree(tmp_path)} == {young.name, foreign.name, "other"}


def test_a_file_changed_meanwhile_is_kept(tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_text("of somebody else", encoding="utf-8")
    wrong: list[dict[Path, str | None]] = [
        {path: "as it was"},
        {path: None},
        {tmp_path / "gone": "as it was"},
    ]
    for before in wrong:
        with pytest.raises(FileError, match="was changed by another process meanwhile"):
            write_files({path: "new", other: "new"}, before=before)
        assert tree(tmp_path) == {"file": b"of somebody else"}
    write_files({path: "new"}, before={path: "of somebody else", other: None})
    assert tree(tmp_path) == {"file": b"new"}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which files were read whole."""
    seen: list[str] = []
    real = files.sha256_of

    def note(path: Path) -> str:
        seen.append(path.name)
        return real(path)

    monkeypatch.setattr(files, "sha256_of", note)
    monkeypatch.setattr(files, "_LARGE", 4)
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


@pytest.mark.parametrize("text", ["", "[", "[]", "{}", '{"/a": 1}', '{"/a": ["x"]}', "\xff"])
def test_an_invalid_hash_cache_is_dropped(tmp_path: Path, read: list[str], text: str) -> None:
    file, kept = tmp_path / "large", tmp_path / "hashes.json"
    file.write_bytes(b"large")
    kept.write_bytes(text.encode("latin-1"))
    known = Hashes(kept)
    assert known.sha256(file) == hashlib.sha256(b"large").hexdigest()
    known.keep()
    assert Hashes(kept).sha256(file) and read == ["large"]


def test_hashes_that_cannot_be_kept_are_computed_again(tmp_path: Path, read: list[str]) -> None:
    (tmp_path / "large").write_bytes(b"large")
    (tmp_path / "file").touch()
    for _ in range(2):
        known = Hashes(tmp_path / "file" / "hashes.json")
        assert known.sha256(tmp_path / "large") == hashlib.sha256(b"large").hexdigest()
        known.keep()
    assert read == ["large", "large"]


ROOT = Path(__file__).resolve().parents[3]
PLACE = own_mark().rsplit(":", 2)[0]


def test_an_ended_process_is_gone() -> None:
    code = "from cannery.common.files import own_mark; print(own_mark())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert is_gone(done.stdout.strip())


@pytest.mark.parametrize("mark", ["", "1", "::", "x:1", f"{PLACE}:x:1", "other:1:1"])
def test_an_unknown_process_is_not_gone(mark: str) -> None:
    assert not is_gone(mark)


def test_temporary_folders_of_killed_runs_are_removed(tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    with temporary_folder(parent) as other:
        (parent / f".making-{PLACE}:{os.getpid()}:1:x").mkdir()
        (parent / "of-somebody-else").mkdir()
        with temporary_folder(parent) as own:
            assert {*parent.iterdir()} == {own, other, parent / "of-somebody-else"}
    assert [*parent.iterdir()] == [parent / "of-somebody-else"]
