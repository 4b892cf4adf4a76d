# SPDX-License-Identifier: Apache-2.0
"""Explains a code, the id of a finding, a symbol, a library, or a line of a log."""

from __future__ import annotations

import difflib
import re
import string
from typing import Any

from .causes import Cause, causes, causes_in
from .codes import Code, catalogue, codes_in, family, is_inner
from .log_report import cause_document
from .owners import judge_line, owner_of
from .table import Finding

_MANGLED = re.compile(r"_Z\w+$")


def explain(asked: str, table: dict[str, Finding]) -> list[dict[str, Any]]:
    """What ``asked`` means, as documents; none if it is unknown.

    npu-smi's codes are negative, and 8020 is easier to type.
    """
    word = asked.strip()
    low = word.lower()
    asked_for = {low, "-" + low}
    rows = [general(row) for row in table.values() if asked_for & _names(row.id, row.codes)]
    found = [
        each for each in causes().values() if asked_for & _names(each.id, each.codes, each.names)
    ]
    code = _code(word)
    if code:
        found += [each for each in causes().values() if code.code in each.codes]
    if found:
        rows = [row for row in rows if row["id"] == low]
        return [*rows, *(cause_document(each) for each in dict.fromkeys(found))]
    return rows or ([_code_document(code)] if code else _of_text(word))


def _names(*names: Any) -> set[str]:
    flat = [each for name in names for each in ([name] if isinstance(name, str) else name)]
    return {each.lower() for each in flat}


def _code(word: str) -> Code | None:
    """The row of the catalogue."""
    table = catalogue()
    return next((table[each] for each in (word.upper(), "-" + word) if each in table), None)


def _code_document(code: Code) -> dict[str, Any]:
    own = causes()["code"]
    values = {**code._asdict(), "family": family(code.code)}
    return {**cause_document(own, values), "severity": "note", "sources": [code.source]}


def _of_text(text: str) -> list[dict[str, Any]]:
    """The causes that a line names, or whose a symbol or a library is."""
    rows = [cause_document(each.cause, each.values) for each in causes_in(text)]
    inner = [code for code in codes_in(text) if is_inner(code)]
    if inner and not rows:
        return [_judged("inner", {"code": inner[0], "family": family(inner[0])})]
    if not rows and re.match(r"lib[\w.+-]+\.so", text):
        judged = judge_line(f"{text}: cannot open shared object file")
        rows = [_judged(*judged)] if judged else []
    if not rows and re.match(r"\w+$", text) and (_MANGLED.match(text) or owner_of(text)):
        judged = judge_line(f"undefined symbol: {text}")
        rows = [_judged(*judged)] if judged and judged[0] else []
    return rows


def _judged(name: str, values: dict[str, str]) -> dict[str, Any]:
    own: Cause = causes()[name]
    return cause_document(own, values)


def near(asked: str, table: dict[str, Finding]) -> list[str]:
    """Names that resemble ``asked``."""
    names = [name for row in table.values() for name in (row.id, *row.codes)]
    names += [name for row in causes().values() for name in (row.id, *row.codes, *row.names)]
    # A neighbour of a code means something else.
    found = difflib.get_close_matches(asked, names, 3, 0.6)
    return [] if re.search(r"\d{3}", asked) else found


def general(row: Finding) -> dict[str, Any]:
    """The finding as a document, without a host: {names} stay as NAMES."""
    return {
        "id": row.id,
        "severity": row.severity,
        "what": _general(row.what),
        "why": _general(row.why),
        "mend": _general(row.mend),
        "sure": row.sure,
        "sources": list(row.sources),
    }


def _general(text: str) -> str:
    parts = string.Formatter().parse(text)
    return "".join(literal + (name.upper() if name else "") for literal, name, _, _ in parts)
