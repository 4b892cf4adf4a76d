# SPDX-License-Identifier: Apache-2.0
"""Reads the parts that rows of compat.yaml share, and collects all problems."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import yaml
from packaging.requirements import InvalidRequirement
from packaging.specifiers import InvalidSpecifier
from packaging.version import InvalidVersion, Version

from cannery.common.cann_version import CannRange
from cannery.common.clock import is_day
from cannery.common.errors import did_you_mean
from cannery.common.model import CHIPS
from cannery.common.specifiers import parse_requirement, specifiers
from cannery.common.wheel_tags import MACHINES
from cannery.common.yaml_reader import Section
from cannery.compat import facts

T = TypeVar("T")

_PYTHONS = re.compile(r"3\.([0-9][0-9]?)(?:-3\.([0-9][0-9]?))?")
_GLIBC = re.compile(r"[0-9]+\.[0-9]+")
_DATE = re.compile(r"[0-9]{4}(-[0-9][0-9](-[0-9][0-9])?)?")
_FIRST = "2000-01-01"
"""Completes a date without a month or a day."""


def python_range(text: str) -> tuple[str, ...]:
    """The minors of ``3.8-3.10`` or ``3.8``, as ("3.8", "3.9", "3.10").

    Raises:
        ValueError: it is neither.
    """
    match = _PYTHONS.fullmatch(text)
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise ValueError(f"{text!r} is not a range of Pythons. Write it as in 3.8-3.11.")
    return tuple(f"3.{minor}" for minor in range(int(match[1]), int(match[2] or match[1]) + 1))


class Reader:
    """Reads the rows of one file; ``sources`` must have been read before any of them."""

    def __init__(self, top: Section) -> None:
        self.top = top
        self.sources: dict[str, facts.Source] = {}
        self._cited: set[str] = set()
        self._lines: dict[tuple[object, ...], int] = {}

    def rows(self, key: str, parse: Callable[[Section], T | None]) -> tuple[T, ...]:
        """Each mapping of the list ``key``, parsed; None stands for one that has a problem."""
        items = self.top.mappings(key, required=True, item=f"a row of {key}")
        return tuple(row for each in items if (row := self._row(each, parse)))

    def _row(self, section: Section, parse: Callable[[Section], T | None]) -> T | None:
        row = parse(section)
        section.done()
        if isinstance(row, facts.Row):
            self._require_new(section, row)
        return row

    def _require_new(self, section: Section, row: facts.Row) -> None:
        """Report a row that says what an earlier one says, by the same sources."""
        content = (type(row).__name__, *sorted(row.says.split(", ")), row.note, *row.sources)
        first = self._lines.setdefault(content, row.line)
        if first != row.line:
            what = f"{section.name} says the same as the one in line {first}."
            section.problems.add(section.node, what, "Remove one of them.")

    def require_cited(self, sources: Section) -> None:
        """Report every one of ``sources`` that nothing cites."""
        for name in self.sources:
            if name not in self._cited:
                what = f"nothing in compat.yaml cites source {name!r}."
                sources.wrong(name, what, "Remove it, or add what it says.")

    def common(self, section: Section) -> dict[str, Any] | None:
        """What every row has: its line, its sources and its note."""
        found = []
        for name in filter(None, section.text_or_texts("source")):
            self._cited.add(name)
            if name in self.sources:
                found.append(self.sources[name])
            else:
                hint = did_you_mean(name, self.sources)
                section.wrong("source", f"there is no source {name!r}.", hint)
        note = section.text("note", required=False)
        if not found:
            return None
        sources = tuple(sorted(found, key=lambda source: source.rank))
        line = section.node.start_mark.line + 1
        return {"line": line, "sources": sources, "says": _says(section), "note": note}


def _says(section: Section) -> str:
    """Every key of a row with its value, but for the source and the note."""
    pairs = ((str(key.value), value) for key, value in section.nodes())
    return ", ".join(
        f"{key}: {_flat(value)}" for key, value in pairs if key not in ("source", "note")
    )


def _flat(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return " ".join(map(_flat, node.value))
    return str(node.value)


def value(
    section: Section, key: str, parse: Callable[[str], T], default: T | None = None
) -> T | None:
    """What ``parse`` makes of the text of ``key``; required where there is no ``default``."""
    text = section.text(key, required=default is None)
    if not text:
        return default
    try:
        return parse(text)
    except (InvalidSpecifier, InvalidVersion, InvalidRequirement) as error:
        section.wrong(key, f"{key!r} cannot be read: {error}.")
    except ValueError as error:
        section.wrong(key, str(error))
    return None


def optional(section: Section, key: str, parse: Callable[[str], T]) -> T | None:
    """What ``parse`` makes of the text of ``key``, or None where it is not given."""
    return value(section, key, parse) if section.take(key, required=False) else None


def wheel_version(text: str) -> str:
    """``text`` as a wheel's metadata spells that version: 2.1.0rc1 for a table's 2.1.0.rc1."""
    return str(Version(text))


def _glibc(text: str) -> tuple[int, ...]:
    if not _GLIBC.fullmatch(text):
        raise ValueError(f"{text!r} is not a version of glibc. Write it as in 2.34.")
    return tuple(map(int, text.split(".")))


def _machine(text: str) -> str:
    if text not in MACHINES:
        raise ValueError(f"there is no machine {text!r}. {did_you_mean(text, MACHINES)}".rstrip())
    return text


def wrong_chip(text: str) -> str:
    """What is wrong with ``text`` as a chip; "" if nothing is."""
    return "" if text in CHIPS else f"unknown chip {text!r}. {did_you_mean(text, CHIPS)}"


def when(section: Section) -> facts.When:
    """The conditions of a row."""
    return facts.When(
        cann=optional(section, "cann", CannRange.parse),
        torch=optional(section, "torch", specifiers),
        torch_npu=optional(section, "torch_npu", specifiers),
        requirement=optional(section, "with", parse_requirement),
        without=optional(section, "without", parse_requirement),
        glibc_below=optional(section, "glibc_below", _glibc) or (),
        machine=optional(section, "machine", _machine) or "",
        without_compiler=section.flag("runtime"),
        usual_index=section.flag("usual_index"),
        pythons=optional(section, "pythons", python_range) or (),
        chips=section.texts("chips", wrong_chip),
    )


def is_date(text: str) -> bool:
    """Whether ``text`` is a year, a month or a day of the calendar: 2026, 2026-08 or 2026-08-21."""
    return bool(_DATE.fullmatch(text)) and is_day(text + _FIRST[len(text) :])


def source(name: str, section: Section) -> facts.Source | None:
    """One source; None where it has a problem."""
    rank = value(section, "rank", int)
    kind = section.choose("kind", {str(kind): kind for kind in facts.Kind}, "kind of source")
    date, cite = section.text("date"), section.text("cite")
    about = section.text("about", required=False)
    address = section.text("address", required=False)
    section.done()
    if date and not is_date(date):
        fix = "Write it as 2026, 2026-08 or 2026-08-21."
        section.wrong("date", f"{date!r} is not a date.", fix)
    if "://" in address or " " in address:
        section.wrong("address", "an address has no scheme and no space.", "Write it as host/path.")
    if rank is None or kind is None:
        return None
    return facts.Source(
        name=name, rank=rank, kind=kind, date=date, cite=cite, about=about, address=address
    )
