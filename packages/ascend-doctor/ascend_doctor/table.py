# SPDX-License-Identifier: Apache-2.0
"""The table of findings on hosts, which is the file findings.ini beside this module."""

from __future__ import annotations

from typing import Any, NamedTuple

from .ini import read_ini, words
from .language import texts

SEVERITIES = ("error", "warning", "note")
"""From the worst to the mildest."""


class Finding(NamedTuple):
    """A row of the table. ``sources`` are full citations; the other texts have {names} to fill in.

    ``codes`` are names by which people look for it.
    """

    id: str
    severity: str
    what: str
    why: str
    mend: str
    sure: str
    sources: tuple[str, ...]
    codes: tuple[str, ...]


class Found(NamedTuple):
    """A finding on a host: the id of its row, and what fills in its texts."""

    id: str
    values: dict[str, Any]


def found(which: str, **values: Any) -> Found:
    """The finding with the id ``which`` and its values."""
    return Found(which, values)


def load_table() -> dict[str, Finding]:
    """Id to finding, in the order of the file."""
    rows = read_ini(__name__, "findings.ini")
    cited = rows.pop("sources")
    return {name: _finding(name, row, cited) for name, row in rows.items()}


def _finding(name: str, row: dict[str, str], cited: dict[str, str]) -> Finding:
    row = {**row, **texts("findings", name)}
    return Finding(
        id=name,
        severity=row["severity"],
        what=row["what"],
        why=row["why"],
        mend=row["mend"],
        sure=row["sure"],
        sources=tuple(cited[key] for key in words(row["source"])),
        codes=words(row.get("codes", "")),
    )


def filled_in(row: Finding, values: dict[str, Any]) -> dict[str, Any]:
    """The finding as a document: ``row`` with its texts filled in."""
    return {
        "id": row.id,
        "severity": row.severity,
        "what": row.what.format_map(values),
        "why": row.why.format_map(values),
        "mend": row.mend.format_map(values),
        "sure": row.sure,
        "sources": list(row.sources),
        "values": dict(values.items()),
    }
