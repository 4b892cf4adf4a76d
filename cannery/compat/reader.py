# SPDX-License-Identifier: Apache-2.0
"""Reads compat.yaml into its rows, or reports everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import yaml
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion

from cannery.common.cann_version import CannRange, CannVersion
from cannery.common.errors import did_you_mean
from cannery.common.specifiers import parse_requirement, specifiers
from cannery.common.yaml_reader import Section, parse_yaml
from cannery.compat import facts
from cannery.compat.values import OneOf, Text, Texts

R = TypeVar("R", bound=facts.Row)

_PARSERS: dict[Any, Callable[[str], Any]] = {
    str: str,
    CannVersion: CannVersion.parse,
    CannRange: CannRange.parse,
    SpecifierSet: specifiers,
    Requirement: parse_requirement,
}
_KEYS = {"requirement": "with", "without_compiler": "runtime"}
"""Field to its key in the file, where that is another word."""

_COMMON = {"line", "sources", "says", "note", "name", "read_at"}
"""Fields of every row, and the name of a source and where it says when it was read."""


@dataclass(frozen=True, kw_only=True)
class _Field:
    """A field of a row: ``how`` it is read, and whether it must be there."""

    name: str
    how: Any
    required: bool

    @property
    def key(self) -> str:
        return _KEYS.get(self.name, self.name)


@lru_cache
def _fields_of(kind: type) -> tuple[_Field, ...]:
    """The fields of the dataclass ``kind`` that a row has besides those of every row."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(
        _Field(
            name=each.name,
            how=_how(hints[each.name]),
            required=each.default is MISSING and each.default_factory is MISSING,
        )
        for each in fields(kind)
        if each.name not in _COMMON
    )


def _how(hint: Any) -> Any:
    """How values of the type ``hint`` are read."""
    if get_origin(hint) is UnionType:
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is Annotated:
        return hint.__metadata__[0]
    return Text(_PARSERS[hint]) if hint in _PARSERS else hint


def read_fields(kind: type, section: Section) -> dict[str, Any] | None:
    """The fields of the dataclass ``kind`` that ``section`` has; None where one is wrong."""
    before = section.problems.count
    values = {each.name: _read(each, section) for each in _fields_of(kind)}
    missing = any(each.required and values[each.name] is None for each in _fields_of(kind))
    if missing or section.problems.count > before:
        return None
    return {name: found for name, found in values.items() if found is not None}


def _read(field: _Field, section: Section) -> Any:
    """The value of ``field``; None where the file has none, or a wrong one."""
    how, key = field.how, field.key
    if is_dataclass(how) and isinstance(how, type):
        found = read_fields(how, section)
        return None if found is None else how(**found)
    if how is bool:
        return section.flag(key)
    if isinstance(how, Texts):
        texts = section.texts(key, lambda text: _wrong(how.parse, text))
        return tuple(how.parse(text) for text in texts if text and not _wrong(how.parse, text))
    if isinstance(how, OneOf):
        return section.choose(key, dict(how.known), how.noun)
    return _parsed(section, key, how, section.text(key, required=field.required))


def _parsed(section: Section, key: str, how: Text, text: str) -> Any:
    """What ``how`` makes of the ``text`` of ``key``; None for a wrong one, or for none."""
    try:
        return how.parse(text) if text else None
    except (InvalidSpecifier, InvalidVersion, InvalidRequirement) as error:
        section.wrong(key, f"{key!r} cannot be read: {error}.")
    except ValueError as error:
        section.wrong(key, str(error))
    return None


def _wrong(parse: Callable[[str], Any], text: str) -> str:
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return ""


class Reader:
    """Reads the rows of one file; ``sources`` must have been read before any of them."""

    def __init__(self, top: Section) -> None:
        self.top = top
        self.sources: dict[str, facts.Source] = {}
        self._cited: set[str] = set()
        self._lines: dict[tuple[object, ...], int] = {}

    def rows(self, key: str, kind: type[R], *, required: bool = True) -> tuple[R, ...]:
        """Each mapping of the list ``key`` that has no problem, as a row of ``kind``."""
        items = self.top.mappings(key, required=required, item=f"a row of {key}")
        return tuple(row for each in items if (row := self._row(each, kind)))

    def _row(self, section: Section, kind: type[R]) -> R | None:
        values, common = read_fields(kind, section), self.common(section)
        section.done()
        if values is None or common is None:
            return None
        row = kind(**common, **values)
        for key, what in _together(row, section.name):
            section.wrong(key, what)
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


def _together(row: facts.Row, name: str) -> Iterator[tuple[str, str]]:
    """What is wrong with values of ``row`` that are right one by one, each at a key."""
    if isinstance(row, facts.Package):
        given = (row.bound, row.pin, row.seen, row.refused or None)
        if sum(each is not None for each in given) != 1:
            yield "", f"{name} needs exactly one of bound, pin, seen and refused."
    elif isinstance(row, facts.DeepSpeed):
        if row.advised and not re.fullmatch(r"==[^,*]+", str(row.version)):
            yield "version", "only one version can be advised. Write it as in ==0.18.4."
    elif (
        isinstance(row, facts.Lifetime)
        and row.component == "cann"
        and (wrong := _wrong(CannVersion.parse, row.version))
    ):
        yield "version", wrong


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


@lru_cache(maxsize=4)
def parse_compat(text: str, name: str) -> facts.Compat:
    """The rows in ``text``, the content of a file called ``name``; an equal text is parsed once."""
    return parse_yaml(text, name, compat_of)


def compat_of(top: Section) -> facts.Compat:
    """The rows of the compat.yaml ``top``; what is wrong becomes a problem."""
    if top.text("schema") not in ("1", ""):
        top.wrong("schema", "this version of cannery reads schema 1 only.")
    reader = Reader(top)
    if section := top.section("sources"):
        for name, each in section.sections():
            if found := read_fields(facts.Source, each):
                read_at = each.problems.span(each.node_of("read"))
                reader.sources[name] = facts.Source(name=name, read_at=read_at, **found)
                _check_state(reader.sources[name].state_of, each, section.names())
            each.done()
    python = top.section("cann_python")
    requirements = python.texts("requirements") if python else ()
    cited = ""
    if python:
        common = reader.common(python)
        cited = facts.Row(**common).cited if common else ""
        python.done()
    compat = facts.Compat(
        sources=reader.sources,
        suites=reader.rows("suites", facts.Suite),
        pairings=_newest_states(reader.rows("torch_npu", facts.Pairing)),
        compatible=reader.rows("compatible", facts.Compatible, required=False),
        drivers=reader.rows("driver", facts.Driver),
        abis=reader.rows("cxx_abi", facts.CxxAbi),
        releases=reader.rows("cann", facts.Release),
        on_toolkit=reader.rows("on_toolkit", facts.OnToolkit),
        files=reader.rows("files", facts.FileName),
        layouts=reader.rows("layouts", facts.LayoutRow),
        deepspeed=reader.rows("deepspeed", facts.DeepSpeed),
        apex=reader.rows("apex", facts.Apex),
        packages=reader.rows("packages", facts.Package),
        applications=reader.rows("applications", facts.ApplicationRow, required=False),
        mindspore=reader.rows("mindspore", facts.MindSpore),
        known_bad=reader.rows("known_bad", facts.KnownBad),
        endings=reader.rows("endings", facts.Ending),
        lifetimes=reader.rows("lifetimes", facts.Lifetime),
        rejected=reader.rows("rejected", facts.Rejected),
        cann_python=requirements,
        cann_python_by=cited,
    )
    if section and not section.is_faulty:
        reader.require_cited(section)
    return compat


def _check_state(earlier: str, source: Section, known: list[str]) -> None:
    if earlier and earlier not in known:
        hint = did_you_mean(earlier, known)
        source.wrong("state_of", f"there is no source {earlier!r}.", hint)


def _newest_states(rows: tuple[facts.Pairing, ...]) -> tuple[facts.Pairing, ...]:
    """``rows`` without those of which a later state of the same document says something else."""
    newest: dict[tuple[str, ...], str] = {}
    for row in rows:
        key = _said_of(row)
        newest[key] = max(row.sources[0].date, newest.get(key, ""))
    return tuple(row for row in rows if row.sources[0].date == newest[_said_of(row)])


def _said_of(row: facts.Pairing) -> tuple[str, ...]:
    """What a row is about, and in which document; a release of an application is a row each."""
    return row.sources[0].document, row.torch, row.torch_npu, str(row.cann), row.app
