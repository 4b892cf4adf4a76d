# SPDX-License-Identifier: Apache-2.0
"""Findings as text and as JSON, and the exit code for them."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any, Sequence

from .language import language, word
from .log_report import where
from .table import SEVERITIES

EXIT_CODES = {"error": 8, "warning": 1, "note": 0}
"""Those of docs/usage.md."""

SCHEMA = 2
_WIDTH = 100
_WIDTH_CHINESE = 72


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
    """One finding: what, where, why, what to do, how sure that is, and its sources."""
    severity = word(finding["severity"])
    lines = _fold("{}: {} [{}]".format(severity, finding["what"], finding["id"]), "")
    if finding.get("text"):
        lines += [_cut("  {}{}: {}".format(word("log:    "), where(finding), finding["text"]))]
    if finding.get("here"):
        lines += [_cut("  " + word("here:   ") + finding["here"])]
    lines += _fold(word("why:    ") + finding["why"], "  ")
    lines += _fold(word("fix:    ") + finding["mend"], "  ")
    sources = "; ".join(finding["sources"])
    sure = word("sure:   ") + word(finding["sure"])
    return "\n".join([*lines, _cut(f"  {sure}; {word('source')}: {sources}")])


def log_text(report: dict[str, Any]) -> str:
    """What logs say: the root, what follows from it in a line each, and notes."""
    findings = report["findings"]
    parts = [paragraph(each) for each in findings if each["role"] == "root"]
    for role, title in (("follows", "Follows from it:"), ("note", "Harmless, or the run went on:")):
        own = [each for each in findings if each["role"] == role]
        if own:
            lines = [_cut(f"  {each['what']} [{each['id']}] {where(each)}") for each in own]
            parts.append("\n".join([word(title), *lines]))
    if not report["logs"]["failed"]:
        parts.append("ascend-doctor: " + word("the logs have no failure."))
    return "\n\n".join(parts)


def _cut(line: str) -> str:
    """``line`` in the width of the report, without a word that is cut, unless it is long."""
    return line if len(line) <= _WIDTH else re.sub(r" \S{0,20}$", "", line[: _WIDTH - 2]) + " …"


def _fold(text: str, indent: str) -> list[str]:
    deeper = indent + "        "
    chinese = bool(language())
    return textwrap.wrap(
        text,
        _WIDTH_CHINESE if chinese else _WIDTH,
        initial_indent=indent,
        subsequent_indent=deeper if indent else "  ",
        # Chinese has no spaces, and its letters are twice as wide.
        break_long_words=chinese,
        break_on_hyphens=False,
    )


def summary(findings: Sequence[dict[str, Any]]) -> str:
    """How many findings there are of each severity."""
    counts = []
    for severity in SEVERITIES:
        count = sum(finding["severity"] == severity for finding in findings)
        if count:
            counts.append(f"{count} {word(severity + ('' if count == 1 else 's'))}")
    return ", ".join(counts) if counts else word("no findings")
