# SPDX-License-Identifier: Apache-2.0
"""Reports of findings: a summary of targets, a finding with its sources, and JSON.

docs/reference.md has the fields of the JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from cannery.common.console import fold
from cannery.common.errors import MatrixError, Problem, counted, enumerated
from cannery.common.files import days_between
from cannery.common.model import Target
from cannery.compat.facts import Lifetime
from cannery.compat.finding import Finding, Verdict
from cannery.compat.sources import Row, Source

Judged = Sequence[tuple[Target, Sequence[Finding]]]
"""Targets with their findings."""

_FRESH = 45
"""Days for which the reading of a changing document is current."""

_FRESH_ABSENCE = 30
"""The same, of one by which something is absent."""


def summary(judged: Judged, today: str) -> list[str]:
    """Unverified and unjudged components, the number of targets, disagreements and endings.

    ``today`` is a day as in ``2026-11-22``.
    """
    verdicts = Counter(finding.verdict for _, findings in judged for finding in findings)
    lines = []
    for target, findings in judged:
        if target.unverified:
            lines.append(f"{target.id}: unverified: {target.unverified}")
            if all(finding.verdict is not Verdict.UNKNOWN for finding in findings):
                fix = "remove 'unverified' if it is about nothing else."
                lines.append(f"{target.id}: all of its components are known; {fix}")
    unknown = [
        counted(number, noun)
        for number, noun in (
            (verdicts[Verdict.UNKNOWN], "unverified component"),
            (verdicts[Verdict.NOT_JUDGED], "unjudged application"),
        )
        if number
    ]
    known = f"all of {'its' if len(judged) == 1 else 'their'} components are known to work"
    if unknown:
        known = f"nothing is known of {' and '.join(unknown)}; all others are known to work"
    lines.append(f"{counted(len(judged), 'target')} checked: {known}.")
    unjudged = _targets(judged, Verdict.NOT_JUDGED, lambda finding: finding.text)
    lines += [f"{counted(n, 'target')}: not judged: {text}" for text, n in unjudged.items()]
    disputed = _targets(judged, Verdict.DISPUTED, lambda finding: finding.component)
    if disputed:
        ranked = sorted(disputed.items(), key=lambda item: (-item[1], item[0]))
        names = [f"{component} ({counted(number, 'target')})" for component, number in ranked]
        lines.append(
            f"Sources disagree on {enumerated(names)}. "
            "To see what each says: python build.py explain TARGET"
        )
    return [*lines, *_endings(judged, today)]


def _targets(judged: Judged, verdict: Verdict, key: Callable[[Finding], str]) -> Counter[str]:
    """``key`` of the findings with ``verdict`` to the number of targets that have it."""
    return Counter(
        text
        for _, findings in judged
        for text in dict.fromkeys(
            key(finding) for finding in findings if finding.verdict is verdict
        )
    )


def _endings(judged: Judged, today: str) -> list[str]:
    """The endings of the next year with the number of targets; those that have passed come last."""
    next_year = f"{int(today[:4]) + 1}{today[4:]}"
    targets: Counter[tuple[bool, str]] = Counter()
    for _, findings in judged:
        for finding in findings:
            days = [row.ends for row in finding.rows if isinstance(row, Lifetime) and row.ends]
            if finding.verdict is Verdict.ENDING and min(days, default="") <= next_year:
                targets[any(day < today for day in days), finding.text] += 1
    return [
        f"warning: {counted(number, 'target')}: {text} This day has passed."
        if ended
        else f"{counted(number, 'target')}: {text}"
        for (ended, text), number in sorted(targets.items(), key=lambda item: item[0][0])
    ]


def require_read(sources: Iterable[Source], today: str) -> None:
    """Refuse documents read after ``today``, a day of UTC; one day is left for time zones."""
    fix = "Enter the day on which it was read, or correct this machine's clock."
    wrong = [
        Problem(
            what=f"'read' is {source.read}, and today is {today}.", fix=fix, where=source.read_at
        )
        for source in sources
        if source.read and days_between(today, source.read) > 1
    ]
    if wrong:
        raise MatrixError(wrong)


def outdated(sources: Iterable[Source], today: str, absences: Collection[Source] = ()) -> list[str]:
    """A warning for each changing document whose last reading is too old.

    By those of ``absences`` something is absent.
    """
    newest: dict[str, Source] = {}
    for source in sources:
        if source.read and source.read >= newest.get(source.document, source).read:
            newest[source.document] = source
    ages = {source: days_between(source.read, today) for source in newest.values()}
    documents = {source.document for source in absences}
    warnings = []
    for source, days in ages.items():
        absent = source.document in documents
        if days > (_FRESH_ABSENCE if absent else _FRESH):
            why = ", and rows say what it lacks" if absent else ""
            look = " 'build.py update' looks for it." if absent else ""
            warnings.append(
                f"warning: {source.cite} was last read on {source.read}, {days} days ago{why}: "
                f"see whether it says more now, and enter that with today as 'read'.{look}"
            )
    return warnings


def explanation(target: Target, findings: Iterable[Finding], width: int, *, verbose: bool) -> str:
    """The findings about ``target`` with their sources; whole rows if ``verbose``."""
    lines = fold([f"{target.id}: {target.summary}, {target.platform}"], width)
    if target.unverified:
        lines += fold([f"  UNVERIFIED: {target.unverified}"], width)
    cann = target.cann
    if cann.interim:
        text = f"CANN {cann.version} is an interim build; it is judged as {cann.nearest_public}."
        lines += fold([f"  {text}"], width)
    for finding in findings:
        lines += explained(finding, width, verbose=verbose)
    return "\n".join(lines)


def explained(finding: Finding, width: int, *, verbose: bool = True) -> list[str]:
    """``finding`` with its sources and those against it; rows that differ are shown whole."""
    verdict = finding.verdict
    mark = "" if verdict is Verdict.ALLOWED else f" [{verdict.value}]"
    lines = fold([f"  {finding.component}{mark}: {finding.text}"], width)
    for label, rows in (("by", finding.rows), ("against", finding.against)):
        for row in rows:
            row_lines = [f"      {label:<9}{row.cited}", f"{'':15}{row.says}"]
            for source in row.sources:
                known = " - ".join(filter(None, [_url(source), source.about]))
                kind = f"{source.kind}, rank {source.rank}"
                row_lines.append(f"{'':15}{kind}: {known}" if known else f"{'':15}{kind}")
            row_lines += [f"      {'note':<9}{row.note}"] if row.note else []
            lines += fold(row_lines if verbose else row_lines[: 2 if finding.against else 1], width)
    return lines


def _url(source: Source) -> str:
    return f"https://{source.address}" if source.address else ""


def document(judged: Judged) -> dict[str, Any]:
    """Every target with every finding."""
    return {
        "targets": [
            {
                "id": target.id,
                "summary": target.summary,
                "unverified": target.unverified,
                "components": target.components,
                "findings": [finding_document(finding) for finding in findings],
            }
            for target, findings in judged
        ]
    }


def finding_document(finding: Finding) -> dict[str, Any]:
    """A finding with the rows for and against it."""
    return {
        "component": finding.component,
        "verdict": finding.verdict.value,
        "text": finding.text,
        "rows": [_row_document(row) for row in finding.rows],
        "against": [_row_document(row) for row in finding.against],
    }


def _row_document(row: Row) -> dict[str, Any]:
    sources = [
        {
            "cite": source.cite,
            "date": source.date,
            "kind": str(source.kind),
            "rank": source.rank,
            "about": source.about,
            "url": _url(source),
        }
        for source in row.sources
    ]
    return {"line": row.line, "says": row.says, "note": row.note, "sources": sources}
