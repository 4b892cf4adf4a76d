# SPDX-License-Identifier: Apache-2.0
"""Parses compat.yaml into its rows, or reports everything that is wrong with it."""

from __future__ import annotations

from functools import lru_cache

from cannery.common.errors import did_you_mean
from cannery.common.yaml_reader import Section, parse_yaml
from cannery.compat import facts
from cannery.compat.reader import Reader, read_fields


@lru_cache(maxsize=4)
def parse_compat(text: str, name: str) -> facts.Compat:
    """The rows in ``text``, the content of a file called ``name``; an equal text is parsed once.

    Raises:
        MatrixError: with every problem found, each with its line.
    """
    return parse_yaml(text, name, compat_of)


def compat_of(top: Section) -> facts.Compat:
    """The rows of the compat.yaml ``top``; what is wrong becomes a problem."""
    if top.text("schema") not in ("1", ""):
        top.wrong("schema", "this version of cannery reads schema 1 only.")
    reader = Reader(top)
    if section := top.section("sources"):
        for name, each in section.sections():
            if found := read_fields(facts.Source, each):
                reader.sources[name] = facts.Source(name=name, **found)
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
        applications=reader.rows("applications", facts.Beside, required=False),
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
