# SPDX-License-Identifier: Apache-2.0
"""The table of all images, between two markers of a page. Nothing else there is changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from cannery.catalog.entries import Entry
from cannery.common.columns import code, escaped
from cannery.common.errors import MatrixError, Problem, Span, counted
from cannery.publish.policy import Trial
from cannery.verify.results import WHERE, Basis, Result

MARKERS = ("<!-- catalogue -->", "<!-- /catalogue -->")
"""The lines between which the table is."""

_PAGE = "docs/targets.md"
_README = "README.md"

_HEAD = "| target | contents | verified on |\n|--|--|--|\n"

_BASIS = {
    Basis.CURRENT: "",
    Basis.OLDER: ", older than this state",
    Basis.PUBLISHED: ", the published image",
}


def table(entries: Sequence[Entry]) -> str:
    """The targets with a result or a release, and below them, folded, the others.

    It ends in a line end.
    """
    shown = [each for each in entries if each.verdicts or each.record]
    others = [each for each in entries if each not in shown]
    if not shown or not others:
        return _rows(entries)
    count = counted(len(others), "more target")
    return (
        f"{_rows(shown)}\n<details>\n<summary>{count}, not verified yet</summary>\n\n"
        f"{_rows(others)}\n</details>\n"
    )


def _rows(entries: Sequence[Entry]) -> str:
    """The head, and one row for all targets of which the same is told."""
    told: dict[tuple[str, str], list[str]] = {}
    for each in entries:
        key = ("<br>".join(_contents(each)), _verified(each))
        told.setdefault(key, []).append(code(each.id))
    rows = (
        f"| {'<br>'.join(ids)} | {contents} | {verified} |\n"
        for (contents, verified), ids in told.items()
    )
    return _HEAD + "".join(rows)


def page_with_table(root: Path) -> str:
    """The file of the checkout ``root`` that has the table: docs/targets.md, or else README.md."""
    return _PAGE if (root / _PAGE).is_file() else _README


def inserted(text: str, content: str, file: str, markers: tuple[str, str]) -> str:
    """``text``, the page called ``file``, with ``content`` between the two lines ``markers``.

    Raises:
        MatrixError: the markers are not there exactly once each, in their order.
    """
    lines = text.splitlines(keepends=True)
    places = {
        marker: [number for number, line in enumerate(lines, 1) if line.strip() == marker]
        for marker in markers
    }
    if problems := _problems(places, file, len(lines)):
        raise MatrixError(problems)
    ([start], [end]) = places.values()
    line_end = "\r\n" if lines[start - 1].endswith("\r\n") else "\n"
    middle = ["", *content.splitlines(), ""]
    return "".join([*lines[:start], *(line + line_end for line in middle), *lines[end - 1 :]])


def _problems(places: dict[str, list[int]], file: str, length: int) -> list[Problem]:
    start, end = places
    fix = f"What is generated goes between one line {start} and, after it, one line {end}."
    problems = []
    for marker, found in places.items():
        if not found:
            where = Span(file=file, line=max(length, 1), column=1)
            problems.append(Problem(what=f"there is no line {marker}.", fix=fix, where=where))
        for number in found[1:]:
            what = f"{marker} is in line {found[0]} already."
            where = Span(file=file, line=number, column=1)
            problems.append(Problem(what=what, fix=fix, where=where))
    starts, ends = places.values()
    if not problems and starts > ends:
        where = Span(file=file, line=ends[0], column=1)
        problems.append(Problem(what=f"{end} comes before {start}.", fix=fix, where=where))
    return problems


def _contents(entry: Entry) -> list[str]:
    """The summary, and if there are any: its use, the published image and the trial."""
    lines = [escaped(entry.target.summary)]
    if entry.target.recommended:
        lines.append(f"**recommended for {escaped(entry.target.recommended)}**")
    if entry.record:
        lines.append(code(entry.by_tag) + (" (simulated: no CANN)" if entry.simulated else ""))
    if entry.trial:
        lines.append(_trial(entry.trial))
    return lines


def _trial(trial: Trial) -> str:
    return f"[{escaped(trial.title)}]({quote(trial.url, safe=':/?#@!$&+,;=%~')})"


def _verified(entry: Entry) -> str:
    return "<br>".join(_verdict(each) for each in entry.verdicts) or "not yet"


def _verdict(result: Result) -> str:
    tested = result.tested
    where = WHERE[result.where]
    if tested.failed:
        checks = f"{tested.failed} of {tested.passed + tested.failed} checks"
        where = f"**failed** on {where}: {checks}"
    elif result.where == "npu":
        where += f" ({escaped(tested.hardware)})"
    moved = f" ({', '.join(result.moved)})" if result.moved else ""
    return f"{where}, {escaped(tested.date)}{_BASIS[result.basis]}{moved}"
