# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest

from cannery.errors import FileError, UsageError
from cannery.plan.journal import Entry, Journal, Progress, RunSettings, read_journal

ASKED = RunSettings(
    simulate=True,
    jobs=3,
    artifacts="/vendor",
    ca="/ca.pem",
    builder="pool",
    named=("one",),
    cache_to=("r.test/cache",),
    cache_from=("r.test/cache", "type=local,src=/x"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.json"


def test_what_is_noted_is_read_again(path: Path) -> None:
    journal = Journal(path=path, asked=ASKED)
    journal.note("one", Progress.WAITING, key="k1")
    journal.note("two", Progress.FAILED, why="it was\nno good")
    journal.note("one", Progress.BUILT, image="sha256:1")
    assert read_journal(path) == journal
    assert journal.entries["one"] == Entry(progress=Progress.BUILT, key="k1", image="sha256:1")
    journal.note("one", Progress.DONE)
    journal.note("two", Progress.WAITING)
    found = read_journal(path).entries
    assert found["one"] == Entry(progress=Progress.DONE, key="k1", image="sha256:1")
    assert found["two"].why == ""
    assert [name for name, entry in found.items() if not entry.finished] == ["two"]


def test_no_run(path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no run to resume\. Start one with --target"):
        read_journal(path)


def good(path: Path) -> dict[str, object]:
    Journal(path=path, asked=ASKED).note("one", Progress.BUILT, image="sha256:1", key="k")
    loaded: dict[str, object] = json.loads(path.read_text())
    return loaded


SPOILED = {
    "nothing": "",
    "no JSON": "{",
    "half of it": '{"schema": 1, "asked": {"simul',
    "a list": "[]",
    "a number": "7",
    "another program's": '{"version": 3}',
    "another schema": '{"schema": 2, "asked": {}, "targets": {}}',
    "no options": '{"schema": 1, "targets": {}}',
    "no targets": '{"schema": 1, "asked": {}}',
}


@pytest.mark.parametrize("text", SPOILED.values(), ids=SPOILED)
def test_a_file_that_is_no_journal(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(FileError, match=r"is no journal of this build\.py\. Remove it, and start"):
        read_journal(path)


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        ("asked", "simulate", "yes"),
        ("asked", "simulate", 1),
        ("asked", "jobs", True),
        ("asked", "jobs", None),
        ("asked", "named", "one"),
        ("asked", "ca", 3),
        ("one", "progress", "finished"),
        ("one", "key", 3),
        ("one", "image", None),
    ],
)
def test_a_value_that_is_none(path: Path, place: str, name: str, value: object) -> None:
    content: dict[str, dict[str, dict[str, object]]] = good(path)  # type: ignore[assignment]
    where = content["asked"] if place == "asked" else content["targets"][place]
    where[name] = value  # type: ignore[assignment]
    path.write_text(json.dumps(content))
    with pytest.raises(FileError, match="is no journal"):
        read_journal(path)


def test_a_journal_is_never_half_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        Journal(path=path, asked=ASKED).note("two", Progress.DONE)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["journal.json"]
