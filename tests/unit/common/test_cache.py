# SPDX-License-Identifier: Apache-2.0
"""What was computed is known until an input changes; a cache in any other state knows nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cannery.common import cache as caches
from cannery.common.cache import Cache, Inputs, inputs_of, inputs_of_each

NAME = "entry"


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(folder=tmp_path / "state" / "cache")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two files, one of them in a folder of its own."""
    found = tmp_path / "files"
    (found / "below").mkdir(parents=True)
    (found / "first").write_text("one", encoding="utf-8")
    (found / "below" / "second").write_text("two", encoding="utf-8")
    return found


class Computing:
    """Computes the same, and counts how often it has to."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> dict[str, list[str]]:
        self.times += 1
        return {"räder": ["a", "b"]}


def is_known(cache: Cache, *paths: Path) -> bool:
    """Whether the second of two runs knows what the first has computed."""
    compute = Computing()
    for _ in range(2):
        assert cache.computed(NAME, inputs_of([], paths), compute) == {"räder": ["a", "b"]}
    return compute.times == 1


def test_what_was_computed_is_known(cache: Cache, folder: Path) -> None:
    assert is_known(cache, folder, folder / "missing")
    assert cache.get(NAME, inputs_of(["text"], [folder])) is None
    assert cache.get("other", inputs_of([], [folder])) is None


def in_place(folder: Path) -> None:
    """Another content of the same size."""
    (folder / "first").write_text("ONE", encoding="utf-8")


def with_the_old_time(folder: Path) -> None:
    """What rsync and tar do."""
    info = (folder / "first").stat()
    in_place(folder)
    os.utime(folder / "first", ns=(info.st_atime_ns, info.st_mtime_ns))


CHANGES: list[Callable[[Path], object]] = [
    in_place,
    with_the_old_time,
    lambda folder: (folder / "first").chmod(0o600),
    lambda folder: (folder / "first").rename(folder / "third"),
    lambda folder: (folder / "below" / "second").unlink(),
    lambda folder: (folder / "below" / "new").touch(),
    lambda folder: folder.rename(folder.with_name("moved")),
    lambda folder: (folder / "link").symlink_to("first"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_noticed(cache: Cache, folder: Path, change: Callable[[Path], object]) -> None:
    before = inputs_of([], [folder])
    cache.keep(NAME, before, "text")
    assert cache.get(NAME, before) == "text"
    change(folder)
    assert cache.get(NAME, inputs_of([], [folder])) is None


EACH = {"below": "a text", "missing": "another"}


def each_inputs(folder: Path, texts: Mapping[str, str] = EACH) -> dict[str, Inputs]:
    return inputs_of_each(texts, folder, [folder / "first"])


def test_what_was_noted_of_each_is_known_until_it_changes(cache: Cache, folder: Path) -> None:
    assert cache.noted(NAME, each_inputs(folder)) == set()
    cache.note(NAME, each_inputs(folder))
    assert cache.noted(NAME, each_inputs(folder)) == {*EACH}
    assert cache.noted(NAME, each_inputs(folder, {**EACH, "below": "new"})) == {"missing"}
    assert cache.noted(NAME, each_inputs(folder, {"below": "a text", "new": ""})) == {"below"}
    (folder / "missing").mkdir()
    assert cache.noted(NAME, each_inputs(folder)) == {*EACH}
    (folder / "missing" / "new").touch()
    assert cache.noted(NAME, each_inputs(folder)) == {"below"}
    # What all share.
    in_place(folder)
    assert cache.noted(NAME, each_inputs(folder)) == set()


def test_a_folder_that_became_a_link_has_changed(cache: Cache, folder: Path) -> None:
    cache.note(NAME, each_inputs(folder))
    (folder / "below").rename(folder.with_name("aside"))
    (folder / "below").symlink_to(folder.with_name("aside"), target_is_directory=True)
    for _ in range(2):
        assert cache.noted(NAME, each_inputs(folder)) == {"missing"}
        cache.note(NAME, each_inputs(folder))


def test_what_is_as_young_as_the_note_may_have_changed_since(cache: Cache, folder: Path) -> None:
    cache.note(NAME, each_inputs(folder))
    newest = each_inputs(folder)["below"].newest
    os.utime(cache.folder / NAME, ns=(newest, newest))
    assert "below" not in cache.noted(NAME, each_inputs(folder))
    os.utime(cache.folder / NAME, ns=(newest, newest + 1))
    assert cache.noted(NAME, each_inputs(folder)) == {*EACH}


def test_the_file_that_a_link_leads_to_is_an_input(
    cache: Cache, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "aside").write_text("one", encoding="utf-8")
    (folder / "link").symlink_to(tmp_path / "aside")
    assert is_known(cache, folder)
    (tmp_path / "aside").write_text("two", encoding="utf-8")
    assert cache.get(NAME, inputs_of([], [folder])) is None


def test_below_a_link_to_a_folder_anything_can_change(
    cache: Cache, folder: Path, tmp_path: Path
) -> None:
    (folder / "link").symlink_to(tmp_path, target_is_directory=True)
    assert not is_known(cache, folder)


def test_a_file_as_young_as_the_entry_may_have_changed_since(cache: Cache, folder: Path) -> None:
    assert is_known(cache, folder)
    entry = (cache.folder / NAME).stat()
    os.utime(folder / "first", ns=(entry.st_mtime_ns, entry.st_mtime_ns))
    inputs = inputs_of([], [folder])
    cache.keep(NAME, inputs, "text")
    os.utime(cache.folder / NAME, ns=(inputs.newest, inputs.newest))
    assert cache.get(NAME, inputs) is None
    os.utime(cache.folder / NAME, ns=(inputs.newest, inputs.newest + 1))
    assert cache.get(NAME, inputs) == "text"


def test_other_code_knows_nothing(
    cache: Cache, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_known(cache)
    monkeypatch.setattr(caches, "PROGRAM", folder)
    caches.forget_program()
    try:
        assert cache.get(NAME, inputs_of([])) is None
    finally:
        monkeypatch.undo()
        caches.forget_program()
    assert cache.get(NAME, inputs_of([])) is not None


def test_python_and_its_packages_are_part_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    before = inputs_of([]).digest
    try:
        monkeypatch.setattr("sys.version", "3.99")
        caches.forget_program()
        assert inputs_of([]).digest != before
    finally:
        monkeypatch.undo()
        caches.forget_program()


def replaced_by(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def replaced(entry: Path) -> None:
        kept = entry.rename(entry.with_name("kept"))
        make(entry)
        assert kept.exists()

    return replaced


DAMAGES: list[Callable[[Path], object]] = [
    lambda entry: entry.write_bytes(b""),
    lambda entry: entry.write_bytes(b"\xff\xfe"),
    lambda entry: entry.write_bytes(entry.read_bytes()[:-1]),
    lambda entry: entry.write_bytes(entry.read_bytes() + b" "),
    lambda entry: entry.write_bytes(entry.read_bytes().replace(b'"a"', b'"c"')),
    lambda entry: entry.chmod(0o664),
    lambda entry: entry.chmod(0o646),
    replaced_by(lambda entry: entry.symlink_to("kept")),
    replaced_by(os.mkfifo),
    replaced_by(Path.mkdir),
    Path.unlink,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_foreign_entry_is_computed_anew(
    cache: Cache, folder: Path, damage: Callable[[Path], object]
) -> None:
    compute = Computing()
    inputs = inputs_of([], [folder])
    expected = cache.computed(NAME, inputs, compute)
    damage(cache.folder / NAME)
    assert cache.get(NAME, inputs) is None
    assert cache.computed(NAME, inputs, compute) == expected
    assert compute.times == 2


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_or_foreign_notes_are_none(
    cache: Cache, folder: Path, damage: Callable[[Path], object]
) -> None:
    each = each_inputs(folder, {"a": "text"})
    cache.note(NAME, each)
    assert cache.noted(NAME, each) == {"a"}
    damage(cache.folder / NAME)
    assert cache.noted(NAME, each) == set()


def test_an_entry_of_another_user_is_not_believed(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_known(cache)
    monkeypatch.setattr(os, "geteuid", lambda: (cache.folder / NAME).stat().st_uid + 1)
    assert cache.get(NAME, inputs_of([])) is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not is_known(Cache(folder=tmp_path / "file" / "cache"))


def test_what_fails_is_not_kept(cache: Cache) -> None:
    def fail() -> None:
        raise ValueError

    for _ in range(2):
        with pytest.raises(ValueError):
            cache.computed(NAME, inputs_of([]), fail)
    assert not cache.folder.exists()
