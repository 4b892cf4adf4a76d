# SPDX-License-Identifier: Apache-2.0
"""Finds the rows of the table for a code, the name of a finding, or a message."""

from __future__ import annotations

import difflib
import re
import string
from typing import Any

from .table import Finding


def explain(code: str, table: dict[str, Finding]) -> list[Finding]:
    """The findings that ``code`` names: an id, an error code, or a line with a known error."""
    word = code.strip()
    rows = list(table.values())
    named = [row for row in rows if row.id == word.lower()]
    named += [row for row in rows if word.lower() in [c.lower() for c in row.codes]]
    if not named and word.isdigit():
        # npu-smi's codes are negative, and "--explain 8005" is easier to type.
        named = [row for row in rows if "-" + word in row.codes]
    if not named:
        named = [row for row in rows if row.log and re.search(row.log, word)]
    return list(dict.fromkeys(named))


def near(code: str, table: dict[str, Finding]) -> list[str]:
    """Names that resemble ``code``."""
    names = [name for row in table.values() for name in (row.id, *row.codes)]
    return difflib.get_close_matches(code, names, 3, 0.6)


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
