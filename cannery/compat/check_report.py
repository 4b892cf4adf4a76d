# SPDX-License-Identifier: Apache-2.0
"""What is known of targets: a summary of several, a finding with its sources, and all as JSON.

docs/reference.md has the fields that programs see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cannery.common.console import fold
from cannery.common.errors import MatrixError, Problem, counted, enumerated
from cannery.common.files import days_between
from cannery.common.model import Target
from cannery.common.outside import json_text
from cannery.compat.facts import Lifetime, Row, Source
from cannery.compat.finding import Finding, Verdict

Judged = Sequence[tuple[Target, Sequence[Finding]]]
"""Targets, each with everything that is known of it."""

_FRESH = 45
"""For how many days a reading of a document that changes is taken for current."""


def summary(judged: Judged, today: str) -> list[str]:
    """What is unverified or not judged, how many targets were checked, and disagreements.

    Before the day ``today``, as in ``2026-11-22``, some of what ends has ended.
    """
    lines = [line for each in judged for line in _unverified(*each)]
    unknown = sum(_count(findings, Verdict.UNKNOWN) for _, findings in judged)
    owner = "its" if len(judged) == 1 else "their"
    known = f"all of {owner} components are known to work"
    open_ones = sum(_count(findings, Verdict.NOT_JUDGED) for _, findings in judged)
    parts = [
        f"{counted(number, what)} {'is' if number == 1 else 'are'} {verdict}"
        for number, what, verdict in (
            (unknown, "component", "unverified"),
            (open_ones, "application", "not judged"),
        )
        if number
    ]
    if parts:
        known = f"{' and '.join(parts)}, all others are known to work"
    lines.append(f"{counted(len(judged), 'target')} checked: {known}.")
    return [*lines, *_not_judged(judged), *_disagreements(judged), *_endings(judged, today)]


def _count(findings: Iterable[Finding], verdict: Verdict) -> int:
    """The number of components with this verdict."""
    return sum(finding.verdict is verdict for finding in findings)


def _not_judged(judged: Judged) -> Iterator[str]:
    """What is not judged, each once, with the number of targets that have it."""
    texts = Counter(
        finding.text
        for _, findings in judged
        for finding in findings
        if finding.verdict is Verdict.NOT_JUDGED
    )
    for text, number in texts.items():
        yield f"{counted(number, 'target')}: not judged: {text}"


def _unverified(target: Target, findings: Iterable[Finding]) -> Iterator[str]:
    if target.unverified:
        yield f"{target.id}: unverified: {target.unverified}"
        if not _count(findings, Verdict.UNKNOWN):
            what = "all of its components are known by now; 'unverified' can be removed."
            yield f"{target.id}: {what}"


def _disagreements(judged: Judged) -> Iterator[str]:
    """One sentence with every component that is disputed, and in how many targets."""
    targets = Counter(
        component
        for _, findings in judged
        for component in {each.component for each in findings if each.verdict is Verdict.DISPUTED}
    )
    if targets:
        ranked = sorted(targets.items(), key=lambda item: (-item[1], item[0]))
        parts = [f"{component} ({counted(number, 'target')})" for component, number in ranked]
        yield (
            f"Sources disagree on {enumerated(parts)}. "
            "To see what each says: python build.py explain TARGET"
        )


def _endings(judged: Judged, today: str) -> list[str]:
    """What later releases will lack, each once, with the number of targets that have it.

    What has ended is a warning, and comes last. What ends in more than a year is left out.
    """
    next_year = f"{int(today[:4]) + 1}{today[4:]}"
    targets = Counter(
        (any(day < today for day in _ends(finding)), finding.text)
        for _, findings in judged
        for finding in findings
        if finding.verdict is Verdict.ENDING and min(_ends(finding), default="") <= next_year
    )
    return [
        f"warning: {counted(number, 'target')}: {text} This day has passed."
        if ended
        else f"{counted(number, 'target')}: {text}"
        for (ended, text), number in sorted(targets.items(), key=lambda item: item[0][0])
    ]


def _ends(finding: Finding) -> list[str]:
    """The days on which what ``finding`` is about is no longer maintained."""
    return [row.ends for row in finding.rows if isinstance(row, Lifetime) and row.ends]


def require_read(sources: Iterable[Source], today: str) -> None:
    """Require that each document was read by ``today``, a day of UTC; one day is left for zones."""
    fix = "Enter the day on which it was read, or correct this machine's clock."
    wrong = [
        Problem(what=f"'read' is {each.read}, and today is {today}.", fix=fix, where=each.read_at)
        for each in sources
        if each.read and days_between(today, each.read) > 1
    ]
    if wrong:
        raise MatrixError(wrong)


def outdated(sources: Iterable[Source], today: str) -> list[str]:
    """A warning for each document that changes and was read too long before ``today``."""
    newest: dict[str, Source] = {}
    for each in sources:
        if each.read and each.read >= newest.get(each.document, each).read:
            newest[each.document] = each
    ages = {each: days_between(each.read, today) for each in newest.values()}
    return [
        f"warning: {each.cite} was last read on {each.read}, {days} days ago: "
        "see whether it says more now, and enter that with today as 'read'."
        for each, days in ages.items()
        if days > _FRESH
    ]


def explanation(target: Target, findings: Iterable[Finding], width: int, *, verbose: bool) -> str:
    """What is known of ``target``, with the sources, in lines of about ``width``.

    Only if ``verbose``, with all that each row and its sources say.
    """
    lines = [f"{target.id}: {target.summary}"]
    if target.unverified:
        lines.append(f"  UNVERIFIED: {target.unverified}")
    cann = target.cann
    if cann.interim:
        text = f"CANN {cann.version} is an interim build; it is judged as {cann.nearest_public}."
        lines.append(f"  {text}")
    for each in findings:
        lines += explained(each, width, verbose=verbose)
    return "\n".join(lines)


def explained(finding: Finding, width: int, *, verbose: bool = True) -> list[str]:
    """``finding`` with its sources and those against it; rows that differ are shown whole."""
    verdict = finding.verdict
    mark = "" if verdict is Verdict.ALLOWED else f" [{verdict.value}]"
    lines = fold([f"  {finding.component}{mark}: {finding.text}"], width)
    for label, rows in (("by", finding.rows), ("against", finding.against)):
        for row in rows:
            said = [*_row(label, row)]
            lines += fold(said if verbose else said[: 2 if finding.against else 1], width)
    return lines


def _row(label: str, row: Row) -> Iterator[str]:
    yield f"      {label:<9}{row.cited}"
    yield f"{'':15}{row.says}"
    for source in row.sources:
        yield f"{'':15}{_about(source)}"
    if row.note:
        yield f"      {'note':<9}{row.note}"


def _about(source: Source) -> str:
    """What kind of source it is, where to open it, and what else is known of it."""
    kind = f"{source.kind}, rank {source.rank}"
    known = " - ".join(filter(None, [_url(source), source.about]))
    return f"{kind}: {known}" if known else kind


def _url(source: Source) -> str:
    return f"https://{source.address}" if source.address else ""


def to_json(judged: Judged, problems: Iterable[Problem] = ()) -> str:
    """A document with every target and every finding, or with what is wrong."""
    targets = [
        {
            "id": target.id,
            "summary": target.summary,
            "unverified": target.unverified,
            "components": target.components,
            "findings": [finding_document(each) for each in findings],
        }
        for target, findings in judged
    ]
    return json_text({"targets": targets, "problems": [_problem(each) for each in problems]})


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


def _problem(problem: Problem) -> dict[str, Any]:
    where = problem.where
    return {
        "what": problem.what,
        "fix": problem.fix,
        "file": where.file if where else "",
        "line": where.line if where else 0,
        "column": where.column if where else 0,
    }
