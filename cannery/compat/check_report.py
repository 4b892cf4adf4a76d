# SPDX-License-Identifier: Apache-2.0
"""What is known of targets, as text: a summary of several, and one finding with its sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from cannery.common.clock import days_between
from cannery.common.columns import fold
from cannery.common.errors import counted, enumerated
from cannery.compat.check_document import (
    FindingDocument,
    RowDocument,
    SourceDocument,
    TargetDocument,
)
from cannery.compat.facts import Source

Judged = Sequence[TargetDocument]

_FRESH = 45
"""For how many days a reading of a document that changes is taken for current."""


def summary(judged: Judged, today: str) -> list[str]:
    """What is unverified or not judged, how many targets were checked, and disagreements.

    Before the day ``today``, as in ``2026-11-22``, some of what ends has ended.
    """
    lines = [line for target in judged for line in _unverified(target)]
    unknown = sum(_count(each, "unknown") for each in judged)
    owner = "its" if len(judged) == 1 else "their"
    known = f"all of {owner} components are known to work"
    open_ones = sum(_count(each, "unjudged") for each in judged)
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


def _count(target: TargetDocument, verdict: str) -> int:
    """The number of components with this verdict."""
    return sum(finding["verdict"] == verdict for finding in target["findings"])


def _not_judged(judged: Judged) -> Iterator[str]:
    """What is not judged, each once, with the number of targets that have it."""
    texts = Counter(
        finding["text"]
        for target in judged
        for finding in target["findings"]
        if finding["verdict"] == "unjudged"
    )
    for text, number in texts.items():
        yield f"{counted(number, 'target')}: not judged: {text}"


def _unverified(target: TargetDocument) -> Iterator[str]:
    if target["unverified"]:
        yield f"{target['id']}: unverified: {target['unverified']}"
        if not _count(target, "unknown"):
            what = "all of its components are known by now; 'unverified' can be removed."
            yield f"{target['id']}: {what}"


def _disagreements(judged: Judged) -> Iterator[str]:
    """One sentence with every component that is disputed, and in how many targets."""
    targets = Counter(
        component
        for target in judged
        for component in {
            each["component"] for each in target["findings"] if each["verdict"] == "disputed"
        }
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
        (any(day < today for day in finding["ends"]), finding["text"])
        for target in judged
        for finding in target["findings"]
        if finding["verdict"] == "ending" and min(finding["ends"], default="") <= next_year
    )
    return [
        f"warning: {counted(number, 'target')}: {text} This day has passed."
        if ended
        else f"{counted(number, 'target')}: {text}"
        for (ended, text), number in sorted(targets.items(), key=lambda item: item[0][0])
    ]


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


def explanation(target: TargetDocument, width: int, *, verbose: bool) -> str:
    """What is known of ``target``, with the sources, in lines of about ``width``.

    Only if ``verbose``, with all that each row and its sources say.
    """
    lines = [f"{target['id']}: {target['summary']}"]
    if target["unverified"]:
        lines.append(f"  UNVERIFIED: {target['unverified']}")
    if public := target["judged_as"]:
        version = target["components"]["toolkit"]
        lines.append(f"  CANN {version} is an interim build; it is judged as {public}.")
    for each in target["findings"]:
        lines += explained(each, width, verbose=verbose)
    return "\n".join(lines)


def explained(finding: FindingDocument, width: int, *, verbose: bool = True) -> list[str]:
    """``finding`` with its sources and those against it; rows that differ are shown whole."""
    verdict = finding["verdict"]
    mark = "" if verdict == "allowed" else f" [{verdict}]"
    lines = fold([f"  {finding['component']}{mark}: {finding['text']}"], width)
    for label, rows in (("by", finding["rows"]), ("against", finding["against"])):
        for row in rows:
            said = [*_row(label, row)]
            lines += fold(said if verbose else said[: 2 if finding["against"] else 1], width)
    return lines


def _row(label: str, row: RowDocument) -> Iterator[str]:
    cited = "; ".join(f"{source['cite']}, {source['date']}" for source in row["sources"])
    yield f"      {label:<9}{cited}, compat.yaml:{row['line']}"
    yield f"{'':15}{row['says']}"
    for source in row["sources"]:
        yield f"{'':15}{_about(source)}"
    if row["note"]:
        yield f"      {'note':<9}{row['note']}"


def _about(source: SourceDocument) -> str:
    """What kind of source it is, where to open it, and what else is known of it."""
    kind = f"{source['kind']}, rank {source['rank']}"
    known = " - ".join(filter(None, [source["url"], source["about"]]))
    return f"{kind}: {known}" if known else kind
