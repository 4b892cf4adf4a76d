# SPDX-License-Identifier: Apache-2.0
"""The figures of all runs: a JSON line for each, by commit and machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import machine
from bench.result import SCHEMA, Figure
from cannery.common.errors import FileError, Problem, UsageError, file_error

_KEPT = ("title", "unit", "ours", "reference", "repeated", "stalled", "failed")
"""The fields of a figure's entry in the results file that a line has, too."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One run: ``machine`` is a name, and ``figures`` maps keys to entries as in results files."""

    commit: str
    machine: str
    date: str
    figures: Mapping[str, Mapping[str, Any]]


def line(
    figures: Iterable[Figure], facts: Mapping[str, str], *, date: str, commit: str, quick: bool
) -> str:
    """The line of a run."""
    entries = {figure.key: figure.to_json(date=date, commit=commit) for figure in figures}
    kept = {key: {name: each[name] for name in _KEPT} for key, each in entries.items()}
    fields = {"schema": SCHEMA, "date": date, "commit": commit, "quick": quick}
    record = {**fields, "machine": dict(facts), "figures": kept}
    return json.dumps(record, ensure_ascii=False) + "\n"


def append(path: Path, text: str) -> None:
    """Add ``text`` at the end of ``path``.

    Raises:
        FileError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise file_error("write", path, error) from error


def read(path: Path) -> list[Record]:
    """The runs in ``path``: a history, or a results file, which counts as one run.

    Raises:
        FileError: it cannot be read, or is neither.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise file_error("read", path, error) from error
    try:
        # A results file is one document on many lines.
        documents = [text] if text.startswith("{\n") else text.splitlines()
        return [_record(json.loads(each)) for each in documents]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"{path} has no results of this bench: {error!r}."
        raise FileError(Problem(what=what, fix="Give a file that the bench wrote.")) from error


def _record(found: Mapping[str, Any]) -> Record:
    if found["schema"] != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    dates = [each.get("date", "") for each in found["figures"].values()]
    return Record(
        commit=found.get("commit", "several commits"),
        machine=machine.name(found["machine"]),
        date=found.get("date", max(dates, default="")),
        figures=found["figures"],
    )


def side(name: str, known: Path) -> Record:
    """The runs that ``name`` stands for, as one: those in a file, or of a commit in ``known``.

    Raises:
        UsageError: there are none, or they are of several machines.
        FileError: as ``read``.
    """
    if Path(name).is_file():
        records = read(Path(name))
    else:
        records = [each for each in read(known) if each.commit.startswith(name)]
    if not records:
        fix = "Give a results file, or the beginning of a commit's id as it is in the history."
        raise UsageError(Problem(what=f"there are no results of {name!r} in {known}.", fix=fix))
    if len(machines := sorted({each.machine for each in records})) > 1:
        raise UsageError(f"the results of {name!r} are of several machines: {', '.join(machines)}.")
    return pooled(records)


def pooled(records: Sequence[Record]) -> Record:
    """All samples of ``records`` in one."""
    last = records[-1]
    figures: dict[str, Mapping[str, Any]] = {}
    for record in records:
        for key, entry in record.figures.items():
            figures[key] = _added(figures[key], entry) if key in figures else entry
    return Record(commit=last.commit, machine=last.machine, date=last.date, figures=figures)


def _added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        name: {**other[name], "samples": [*one[name]["samples"], *other[name]["samples"]]}
        for name in ("ours", "reference")
        if one[name] and other[name]
    }
    return {**other, **both}
