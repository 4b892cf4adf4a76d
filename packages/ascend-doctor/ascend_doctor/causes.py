# SPDX-License-Identifier: Apache-2.0
"""The causes of failures, of known.ini and causes.ini, and which of them a line names."""

from __future__ import annotations

import re
from typing import Callable, NamedTuple, Pattern, Sequence

from .codes import codes_in, hccl_result
from .ini import read_ini, words
from .lazy import once
from .owners import Values, judge_line, values_of

KINDS = ("root", "symptom", "echo", "wait", "bare", "note", "question")
"""From what says what is wrong to what follows from something else; the last two do no harm."""


class Cause(NamedTuple):
    """A row of the table. ``codes`` mean it, ``names`` are what people look for it by.

    ``mend_named`` is ``mend`` with values of the line, ``native`` that for programs in C++. A
    failure of a cause in ``refines``, or whose code begins as ``family`` says, gets these texts.
    Without a match of ``needs`` in the log it does not: they speak of a product that is not there.
    """

    id: str
    kind: str
    what: str
    named: str
    why: str
    mend: str
    mend_named: str
    native: str
    sure: str
    sources: tuple[str, ...]
    codes: tuple[str, ...]
    names: tuple[str, ...]
    log: tuple[str, ...]
    form: tuple[Pattern[str], ...]
    refines: tuple[str, ...]
    family: tuple[str, ...]
    needs: Pattern[str] | None
    versions: bool
    """Whether versions of packages matter."""


class Found(NamedTuple):
    """A cause in a line, the values of its text, and the part of the line that says so."""

    cause: Cause
    values: Values
    by: str = ""


@once
def causes() -> dict[str, Cause]:
    """Id to cause, in the order of the files."""
    rows, cited = {}, {}
    for file in ("known.ini", "causes.ini"):
        table = read_ini(__name__, file)
        cited.update(table.pop("sources"))
        rows.update(table)
    return {
        name: Cause(
            id=name,
            kind=row.get("kind", "root"),
            what=row["what"],
            named=row.get("named", row["what"] if "form" in row else ""),
            why=row["why"],
            mend=row["mend"],
            mend_named=row.get("mend_named", ""),
            native=row.get("native", ""),
            sure=row["sure"],
            sources=tuple(cited[key] for key in words(row["source"])),
            codes=words(row.get("codes", "")),
            names=words(row.get("names", "")),
            log=tuple(filter(None, row.get("log", "").splitlines())),
            form=tuple(map(re.compile, filter(None, row.get("form", "").splitlines()))),
            refines=words(row.get("refines", "")),
            family=words(row.get("family", "")),
            needs=re.compile(row["needs"], re.IGNORECASE) if "needs" in row else None,
            versions="versions" in row,
        )
        for name, row in rows.items()
    }


@once
def _patterns() -> tuple[tuple[Cause, Pattern[str]], ...]:
    return tuple(
        (cause, re.compile("|".join(cause.log))) for cause in causes().values() if cause.log
    )


@once
def _by_code() -> dict[str, Cause]:
    return {code: cause for cause in causes().values() for code in cause.codes}


def causes_in(text: str, before: Callable[[], Sequence[str]] = tuple) -> list[Found]:
    """The causes that a line names, the most telling first; ``before`` gives the lines before."""
    found: dict[str, Found] = {}
    judged = judge_line(text, tuple(before()))
    if judged and judged[0]:
        found[judged[0]] = Found(causes()[judged[0]], judged[1], text)
    for cause, pattern in _patterns():
        match = pattern.search(text) if cause.id not in found else None
        if match:
            found[cause.id] = Found(cause, values_of(match), match[0])
    for code in codes_in(text):
        known = _by_code().get(code)
        if known and known.id not in found:
            found[known.id] = Found(known, {}, code)
    return sorted(found.values(), key=lambda each: KINDS.index(each.cause.kind))


def codes_of(text: str) -> list[str]:
    """All codes of a line, with results of HCCL."""
    found = codes_in(text)
    result = hccl_result(text)
    return [*found, result] if result else found
