# SPDX-License-Identifier: Apache-2.0
"""Findings as text and as JSON, and the exit code for them."""

from __future__ import annotations

import json
import shutil
import textwrap
from typing import Any, Sequence

from .language import language, word
from .log_report import where
from .table import SEVERITIES

EXIT_CODES = {"error": 8, "warning": 1, "note": 0}
"""Those of docs/usage.md."""

SCHEMA = 2
_WIDTH = 100
_NARROWEST, _WIDEST = 60, 160
_WITH_REMEDY = {"pip-conflict"}
_LINES = 5
"""How many lines the message of a log has."""


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
    if finding.get("file"):
        lines += _log_lines(finding)
    if finding.get("names"):
        names = [f"{word(kind)} {name}" for kind, name in finding["names"].items()]
        lines += _fold(word("names:  ") + "; ".join(names), "  ")
    if finding.get("here"):
        lines += _fold(word("here:   ") + finding["here"], "  ")
    lines += _fold(word("why:    ") + finding["why"], "  ")
    lines += _fold(word("fix:    ") + finding["mend"], "  ")
    sure = word("sure:   ") + word(finding["sure"])
    if finding["sure"] == "certain" and finding.get("by"):
        sure += f', {word("by")} "{finding["by"].strip()[:_WIDTH]}"'
    sources = "; ".join(finding["sources"])
    return "\n".join([*lines, *_fold(f"{sure}; {word('source')}: {sources}", "  ")])


def _log_lines(finding: dict[str, Any]) -> list[str]:
    """Where the log says it, the message, and the frames of the user's own code."""
    message = finding.get("message") or [finding["text"]]
    lines = _fold(word("log:    ") + where(finding), "  ")
    folded = [each for line in message for each in _fold(line, " " * 10)]
    more = len(folded) > _LINES
    lines += [*folded[: _LINES - 1], folded[_LINES - 1] + " …"] if more else folded
    return lines + [
        each for at in finding.get("frames", ()) for each in _fold(f"{word('at')} {at}", " " * 10)
    ]


def log_text(report: dict[str, Any]) -> str:
    """What logs say: the root, what follows from it in a line each, and notes."""
    findings, logs = report["findings"], report["logs"]
    parts = [paragraph(each) for each in findings if each["role"] == "root" or _told(each, logs)]
    for role, title in (("follows", "Follows from it:"), ("note", "Harmless, or the run went on:")):
        own = [each for each in findings if each["role"] == role and not _told(each, logs)]
        if own:
            lines = [line for each in own for line in _fold(_short(each), "  ")]
            parts.append("\n".join([word(title), *lines]))
    if logs.get("left_out"):
        parts.append("\n".join([word("Not read:"), *[f"  {each}" for each in logs["left_out"]]]))
    if not logs["failed"] and not any(_told(each, logs) for each in findings):
        lines = ["ascend-doctor: " + word("no failure that is known was found.")]
        if "suspect" in logs:
            suspect = {**logs["suspect"], "rank": None, "count": 1}
            lines += _fold(
                word("The last line that looks like one is") + f" {where(suspect)}:", "  "
            )
            lines += _fold(suspect["text"], " " * 10)[:_LINES]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _told(finding: dict[str, Any], logs: dict[str, Any]) -> bool:
    """Whether a note has a remedy with names of the log, and nothing else is to be told."""
    return bool(finding["id"] in _WITH_REMEDY and finding["values"] and not logs["failed"])


def _short(finding: dict[str, Any]) -> str:
    return f"{finding['what']} [{finding['id']}] {where(finding)}"


def _width() -> int:
    columns = shutil.get_terminal_size((_WIDTH, 24)).columns
    return max(_NARROWEST, min(columns, _WIDEST))


def _fold(text: str, indent: str) -> list[str]:
    deep = len(indent) > 2
    chinese = bool(language())
    return textwrap.wrap(
        text,
        _width() * 18 // 25 if chinese else _width(),
        initial_indent=indent,
        subsequent_indent=indent if deep else indent + " " * 8 if indent else "  ",
        # Chinese has no spaces, and its letters are twice as wide.
        break_long_words=chinese or deep,
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
