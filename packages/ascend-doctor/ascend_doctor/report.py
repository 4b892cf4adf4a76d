# SPDX-License-Identifier: Apache-2.0
"""Findings as text and as JSON, and the exit code for them."""

from __future__ import annotations

import json
import textwrap
from typing import Any, Sequence

from .table import SEVERITIES

EXIT_CODES = {"error": 8, "warning": 1, "note": 0}
"""8 is the code of build.py for a check that failed; see docs/exit-codes.md."""

SCHEMA = 1
_WIDTH = 100


def exit_code(findings: Sequence[dict[str, Any]]) -> int:
    """The exit code for the worst of ``findings``; 0 if there is none."""
    for severity in SEVERITIES:
        if any(finding["severity"] == severity for finding in findings):
            return EXIT_CODES[severity]
    return 0


def ordered(findings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The worst first."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding["severity"]))


def as_json(**parts: Any) -> str:
    """The document of ``--json``."""
    return json.dumps({"schema": SCHEMA, **parts}, indent=2, ensure_ascii=True)


def as_text(findings: Sequence[dict[str, Any]]) -> str:
    """The findings in paragraphs, the worst first."""
    return "\n\n".join(paragraph(finding) for finding in ordered(findings))


def paragraph(finding: dict[str, Any]) -> str:
    """One finding: what, why, how to mend it, how sure, and its sources."""
    head = "{}: {} [{}]".format(finding["severity"], finding["what"], finding["id"])
    lines = _fold(head, "")
    if finding.get("line"):
        times = "" if finding["count"] == 1 else f", and {finding['count'] - 1} more"
        where = f"at byte {finding['offset']}{times}"
        lines += _fold("log:    {} ({})".format(finding["line"], where), "  ")
    lines += _fold("why:    " + finding["why"], "  ")
    lines += _fold("mend:   " + finding["mend"], "  ")
    lines += _fold(
        "sure:   {}; source: {}".format(finding["sure"], "; ".join(finding["sources"])), "  "
    )
    return "\n".join(lines)


def _fold(text: str, indent: str) -> list[str]:
    deeper = indent + "        "
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=deeper if indent else "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def summary(findings: Sequence[dict[str, Any]]) -> str:
    """How many findings there are of each severity."""
    counts = []
    for severity in SEVERITIES:
        count = sum(finding["severity"] == severity for finding in findings)
        if count:
            counts.append(f"{count} {severity}{'' if count == 1 else 's'}")
    return ", ".join(counts) if counts else "no findings"
