# SPDX-License-Identifier: Apache-2.0
"""Parses compat.yaml into its rows, or reports everything that is wrong with it."""

from __future__ import annotations

from functools import lru_cache

from cannery.common.yaml_reader import Section, parse_yaml
from cannery.compat import facts
from cannery.compat import rows_of as rows
from cannery.compat.reader import Reader, source


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
            if found := source(name, each):
                reader.sources[name] = found
    python = top.section("cann_python")
    requirements = python.texts("requirements") if python else ()
    cited = ""
    if python:
        common = reader.common(python)
        cited = facts.Row(**common).cited if common else ""
        python.done()
    compat = facts.Compat(
        sources=reader.sources,
        suites=reader.rows("suites", lambda each: rows.suite(each, reader)),
        pairings=reader.rows("torch_npu", lambda each: rows.pairing(each, reader)),
        drivers=reader.rows("driver", lambda each: rows.driver(each, reader)),
        abis=reader.rows("cxx_abi", lambda each: rows.cxx_abi(each, reader)),
        releases=reader.rows("cann", lambda each: rows.release(each, reader)),
        on_toolkit=reader.rows("on_toolkit", lambda each: rows.on_toolkit(each, reader)),
        files=reader.rows("files", lambda each: rows.file_name(each, reader)),
        layouts=reader.rows("layouts", lambda each: rows.layout(each, reader)),
        deepspeed=reader.rows("deepspeed", lambda each: rows.deepspeed(each, reader)),
        apex=reader.rows("apex", lambda each: rows.apex(each, reader)),
        packages=reader.rows("packages", lambda each: rows.package(each, reader)),
        mindspore=reader.rows("mindspore", lambda each: rows.mindspore(each, reader)),
        known_bad=reader.rows("known_bad", lambda each: rows.known_bad(each, reader)),
        endings=reader.rows("endings", lambda each: rows.ending(each, reader)),
        lifetimes=reader.rows("lifetimes", lambda each: rows.lifetime(each, reader)),
        rejected=reader.rows("rejected", lambda each: rows.rejected(each, reader)),
        cann_python=requirements,
        cann_python_by=cited,
    )
    if section and not section.is_faulty:
        reader.require_cited(section)
    return compat
