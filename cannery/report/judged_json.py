# SPDX-License-Identifier: Apache-2.0
"""What is known of targets, for programs; docs/command-line.md has the fields."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from cannery.compat import Finding
from cannery.compat.facts import Row
from cannery.errors import Problem
from cannery.model import Target
from cannery.report.judged import Judged


def to_json(judged: Judged, problems: Iterable[Problem] = ()) -> str:
    """A document with every target and every finding, or with what is wrong."""
    found = {
        "targets": [_target(target, findings) for target, findings in judged],
        "problems": [_problem(each) for each in problems],
    }
    return json.dumps(found, indent=2, ensure_ascii=False)


def _target(target: Target, findings: Iterable[Finding]) -> dict[str, Any]:
    return {
        "id": target.id,
        "summary": target.summary,
        "unverified": target.unverified,
        "components": target.components,
        "findings": [_finding(each) for each in findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "component": finding.component,
        "verdict": str(finding.verdict),
        "text": finding.text,
        "rows": [_row(row) for row in finding.rows],
        "against": [_row(row) for row in finding.against],
    }


def _row(row: Row) -> dict[str, Any]:
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
