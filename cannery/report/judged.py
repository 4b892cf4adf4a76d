# SPDX-License-Identifier: Apache-2.0
"""What is known of targets, as text: a summary of several, and one finding with its sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from cannery.compat import Finding, Verdict
from cannery.compat.facts import Row, Source
from cannery.compat.lifetimes import has_ended
from cannery.errors import counted
from cannery.model import Target
from cannery.report.columns import fold

Judged = Sequence[tuple[Target, Sequence[Finding]]]
"""Targets, each with what is known of it."""


def summary(judged: Judged, today: str) -> list[str]:
    """What is built unverified, how many targets were checked, and what sources disagree on.

    Before the day ``today``, as in ``2026-11-22``, some of what ends has ended.
    """
    lines = [line for target, findings in judged for line in _unverified(target, findings)]
    unknown = sum(_count(findings, Verdict.UNKNOWN) for _, findings in judged)
    owner = "its" if len(judged) == 1 else "their"
    known = f"all of {owner} components are known to work"
    if unknown:
        verb = "is" if unknown == 1 else "are"
        known = f"{counted(unknown, 'component')} {verb} unverified, all others are known to work"
    lines.append(f"{counted(len(judged), 'target')} checked: {known}.")
    return [*lines, *_disagreements(judged), *_endings(judged, today)]


def _count(findings: Iterable[Finding], verdict: Verdict) -> int:
    return sum(finding.verdict is verdict for finding in findings)


def _unverified(target: Target, findings: Sequence[Finding]) -> Iterator[str]:
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
        listed = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
        yield (
            f"Sources disagree on {listed}. To see what each says: python build.py explain TARGET"
        )


def _endings(judged: Judged, today: str) -> list[str]:
    """What later releases will lack, each once, with the number of targets that have it.

    What has ended is a warning, and comes last.
    """
    targets = Counter(
        (has_ended(finding, today), finding.text)
        for _, findings in judged
        for finding in findings
        if finding.verdict is Verdict.ENDING
    )
    return [
        f"warning: {counted(number, 'target')}: {text} This day has passed."
        if ended
        else f"{counted(number, 'target')}: {text}"
        for (ended, text), number in sorted(targets.items(), key=lambda item: item[0][0])
    ]


def explanation(target: Target, findings: Iterable[Finding], width: int) -> str:
    """Everything that is known of ``target``, with the sources, in lines of about ``width``."""
    lines = [f"{target.id}: {target.summary}"]
    if target.unverified:
        lines.append(f"  UNVERIFIED: {target.unverified}")
    if target.cann.interim:
        public = target.cann.nearest_public
        lines.append(f"  CANN {target.cann.version} is an interim build; it is judged as {public}.")
    return "\n".join([*lines, *(line for each in findings for line in explained(each, width))])


def explained(finding: Finding, width: int) -> list[str]:
    """``finding`` with its sources and those against it."""
    mark = "" if finding.verdict is Verdict.ALLOWED else f" [{finding.verdict}]"
    lines = fold([f"  {finding.component}{mark}: {finding.text}"], width)
    for label, rows in (("by", finding.rows), ("against", finding.against)):
        lines += fold((line for row in rows for line in _row(label, row)), width)
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
    address = f"https://{source.address}" if source.address else ""
    known = " - ".join(filter(None, [address, source.about]))
    return f"{kind}: {known}" if known else kind
