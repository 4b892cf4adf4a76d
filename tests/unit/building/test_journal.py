# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cannery.building.journal import Journal, Progress, TargetState, read_journal
from cannery.common.errors import FileError, UsageError
from cannery.options import BuildOptions

OPTIONS = BuildOptions(
    simulate=True,
    check_jobs=3,
    artifacts=Path("/vendor"),
    ca=Path("/ca.pem"),
    builder="pool",
    cache_to=("r.test/cache",),
    cache_from=("r.test/cache", "type=local,src=/x"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.json"


def test_what_is_noted_is_read_again(path: Path) -> None:
    journal = Journal(path=path, options=OPTIONS, named=("one",))
    journal.note("one", Progress.WAITING, key="k1")
    journal.note("two", Progress.FAILED, why="it was\nno good")
    journal.note("one", Progress.BUILT, image="sha256:1")
    assert read_journal(path) == journal
    assert journal.entries["one"] == TargetState(
        progress=Progress.BUILT, key="k1", image="sha256:1"
    )
    journal.note("one", Progress.DONE)
    journal.note("two", Progress.WAITING)
    found = read_journal(path).entries
    assert found["one"] == TargetState(progress=Progress.DONE, key="k1", image="sha256:1")
    assert found["two"].why == ""
    assert [name for name, entry in found.items() if not entry.finished] == ["two"]


def test_a_secret_is_never_written_and_not_forgotten(path: Path) -> None:
    options = replace(OPTIONS, index_url="https://name:word@index.test/simple")
    Journal(path=path, options=options).keep()
    assert "index.test" not in path.read_text(encoding="utf-8")
    found = read_journal(path)
    assert (found.options, found.withheld) == (OPTIONS, ("index_url",))
    found.keep()
    assert read_journal(path).withheld == ("index_url",)


def test_a_run_without_a_secret_needs_none(path: Path) -> None:
    Journal(path=path, options=OPTIONS).keep()
    assert read_journal(path).withheld == ()


def test_no_run(path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no run to resume\. Start one with --target"):
        read_journal(path)


def good(path: Path) -> dict[str, object]:
    Journal(path=path, options=OPTIONS, named=("one",)).note(
        "one", Progress.BUILT, image="sha256:1", key="k"
    )
    loaded: dict[str, object] = json.loads(path.read_text())
    return loaded


SPOILED = {
    "nothing": "",
    "no JSON": "{",
    "half of it": '{"schema": 2, "named": [], "options": {"simul',
    "a list": "[]",
    "a number": "7",
    "another program's": '{"version": 3}',
    "an earlier schema": '{"schema": 1, "asked": {"simulate": true}, "targets": {}}',
    "a later schema": '{"schema": 3, "named": [], "options": {}, "targets": {}}',
    "no options": '{"schema": 2, "named": [], "targets": {}}',
    "no targets": '{"schema": 2, "named": [], "options": {}}',
}


@pytest.mark.parametrize("text", SPOILED.values(), ids=SPOILED)
def test_a_file_that_is_no_journal(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    message = r"is not a journal of this version of build\.py\. Remove it, and start"
    with pytest.raises(FileError, match=message):
        read_journal(path)


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        ("options", "simulate", "yes"),
        ("options", "simulate", 1),
        ("options", "check_jobs", True),
        ("options", "check_jobs", None),
        ("options", "check_jobs", 0),
        ("options", "ca", 3),
        ("options", "artifacts", None),
        ("options", "index_url", "https://index.test"),
        ("options", "cache_to", "r.test/cache"),
        ("options", "cache_to", [1]),
        ("options", "colour", "an option of a later version"),
        ("", "named", "one"),
        ("", "named", [1]),
        ("one", "progress", "finished"),
        ("one", "key", 3),
        ("one", "image", None),
    ],
)
def test_a_value_that_is_none(path: Path, place: str, name: str, value: object) -> None:
    content: dict[str, dict[str, dict[str, object]]] = good(path)  # type: ignore[assignment]
    where = content["targets"][place] if place == "one" else content.get(place, content)
    where[name] = value  # type: ignore[assignment]
    path.write_text(json.dumps(content))
    with pytest.raises(FileError, match="is not a journal"):
        read_journal(path)


def test_an_option_that_is_missing(path: Path) -> None:
    content: dict[str, dict[str, object]] = good(path)  # type: ignore[assignment]
    del content["options"]["force"]
    path.write_text(json.dumps(content))
    with pytest.raises(FileError, match="is not a journal"):
        read_journal(path)


def test_a_journal_is_never_half_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        Journal(path=path, options=OPTIONS, named=("one",)).note("two", Progress.DONE)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["journal.json"]
