# SPDX-License-Identifier: Apache-2.0
"""What is known of targets as plain data, for texts and for programs.

docs/reference.md has the fields that programs see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypedDict

from cannery.common.errors import Problem
from cannery.common.model import Target
from cannery.common.outside import json_text
from cannery.compat.facts import Lifetime, Row
from cannery.compat.finding import Finding


class SourceDocument(TypedDict):
    """A ``Source``."""

    cite: str
    date: str
    kind: str
    rank: int
    about: str
    url: str


class RowDocument(TypedDict):
    """A ``Row``, the best of its sources first."""

    line: int
    says: str
    note: str
    sources: list[SourceDocument]


class FindingDocument(TypedDict):
    """A ``Finding``. ``ends`` are the days on which what it is about is no longer maintained."""

    component: str
    verdict: Literal["allowed", "ending", "disputed", "unjudged", "unknown", "forbidden"]
    text: str
    rows: list[RowDocument]
    against: list[RowDocument]
    ends: list[str]


class TargetDocument(TypedDict):
    """A target with every finding.

    ``judged_as`` is the release that an interim build of CANN is judged as, else empty.
    """

    id: str
    summary: str
    unverified: str
    components: dict[str, str]
    judged_as: str
    findings: list[FindingDocument]


_OF_TARGET = ("id", "summary", "unverified", "components")
_OF_FINDING = ("component", "verdict", "text", "rows", "against")


def to_json(judged: Sequence[TargetDocument], problems: Iterable[Problem] = ()) -> str:
    """A document with every target and every finding, or with what is wrong."""
    targets: list[dict[str, Any]] = []
    for each in judged:
        findings = [_only(_OF_FINDING, finding) for finding in each["findings"]]
        targets.append({**_only(_OF_TARGET, each), "findings": findings})
    found = {"targets": targets, "problems": [_problem(each) for each in problems]}
    return json_text(found)


def _only(keys: Iterable[str], document: Any) -> dict[str, Any]:
    return {key: document[key] for key in keys}


def target_document(target: Target, findings: Iterable[Finding]) -> TargetDocument:
    """``target`` with its ``findings``."""
    return {
        "id": target.id,
        "summary": target.summary,
        "unverified": target.unverified,
        "components": target.components,
        "judged_as": target.cann.nearest_public if target.cann.interim else "",
        "findings": [finding_document(each) for each in findings],
    }


def finding_document(finding: Finding) -> FindingDocument:
    """``finding`` with its rows."""
    lifetimes = [row for row in finding.rows if isinstance(row, Lifetime)]
    return {
        "component": finding.component,
        "verdict": finding.verdict.value,
        "text": finding.text,
        "rows": [_row(row) for row in finding.rows],
        "against": [_row(row) for row in finding.against],
        "ends": [row.ends for row in lifetimes if row.ends],
    }


def _row(row: Row) -> RowDocument:
    return {
        "line": row.line,
        "says": row.says,
        "note": row.note,
        "sources": [
            {
                "cite": source.cite,
                "date": source.date,
                "kind": str(source.kind),
                "rank": source.rank,
                "about": source.about,
                "url": f"https://{source.address}" if source.address else "",
            }
            for source in row.sources
        ],
    }


def _problem(problem: Problem) -> dict[str, Any]:
    where = problem.where
    return {
        "what": problem.what,
        "fix": problem.fix,
        "file": where.file if where else "",
        "line": where.line if where else 0,
        "column": where.column if where else 0,
    }
