# SPDX-License-Identifier: Apache-2.0
"""The table of all images in README.md, between two markers. All else there is left as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from cannery.catalog.entries import Entry
from cannery.deploy.run_spec import DeviceKind
from cannery.errors import MatrixError, Problem, Span
from cannery.model import Target
from cannery.publish.policy import Trial

START = "<!-- catalogue -->"
END = "<!-- /catalogue -->"

_HEAD = "| environment | image | trial | verified on |\n|--|--|--|--|\n"
_FIRST = {"python": "Python", "torch": "torch", "torch_npu": "torch_npu", "toolkit": "CANN"}
"""What people choose an image by, and how it is called."""

_SAID = ("base", "kernels", "nnal")
"""Components that say nothing more: the same for many, or of CANN's own version."""

_SPECIAL = re.compile(r"([\\`*\[\]<>#|~]|(?<!\w)_|_(?!\w))")


def table(entries: Sequence[Entry]) -> str:
    """The table, ending in a line end."""
    rows = []
    for each in entries:
        cells = _environment(each.target), _image(each), _trial(each.trial), _verified(each)
        rows.append(f"| {' | '.join(cells)} |")
    note = "\n`python build.py --target TARGET` builds what is not published yet.\n"
    unpublished = any(each.record is None for each in entries)
    return _HEAD + "\n".join(rows) + "\n" + (note if unpublished else "")


def inserted(text: str, content: str, file: str) -> str:
    """``text``, the README called ``file``, with ``content`` between the markers.

    Raises:
        MatrixError: the markers are not there exactly once each, in their order.
    """
    lines = text.splitlines(keepends=True)
    places = {
        marker: [number for number, line in enumerate(lines, 1) if line.strip() == marker]
        for marker in (START, END)
    }
    if problems := _problems(places, file, len(lines)):
        raise MatrixError(problems)
    ([start], [end]) = places.values()
    line_end = "\r\n" if lines[start - 1].endswith("\r\n") else "\n"
    middle = ["", *content.splitlines(), ""]
    return "".join([*lines[:start], *(line + line_end for line in middle), *lines[end - 1 :]])


def _problems(places: dict[str, list[int]], file: str, length: int) -> list[Problem]:
    fix = f"The table goes between one line {START} and, after it, one line {END}."
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
        problems.append(Problem(what=f"{END} comes before {START}.", fix=fix, where=where))
    return problems


def _text(text: str) -> str:
    """``text`` so that Markdown and HTML show it as it is, in one cell."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split())).replace("&", "&amp;")


def _code(text: str) -> str:
    """As ``_text``, in the font of code; our own names only, which have no backticks."""
    return f"`{' '.join(text.split()).replace('|', chr(92) + '|')}`"


def _environment(target: Target) -> str:
    versions = target.components
    first = [f"{said} {versions[name]}" for name, said in _FIRST.items() if name in versions]
    others = [
        f"{name} {version}"
        for name, version in versions.items()
        if name not in _FIRST and name not in _SAID
    ]
    where = f"{target.chip.upper()}, {target.platform}"
    lines = [", ".join(first), ", ".join(others), where]
    return "<br>".join([_code(target.id), *(_text(line) for line in lines if line)])


def _image(entry: Entry) -> str:
    if entry.record is None:
        return "not published yet"
    notes = ["<br>simulated: no CANN"] if entry.simulated else []
    return "<br>".join([_code(entry.by_tag), _code(entry.record.digest)]) + "".join(notes)


def _trial(trial: Trial | None) -> str:
    if trial is None:
        return ""
    return f"[{_text(trial.title)}]({quote(trial.url, safe=':/?#@!$&+,;=%~')})"


def _verified(entry: Entry) -> str:
    result = entry.verified
    if result is None:
        return "nothing yet"
    if result.failed:
        total = result.passed + result.failed
        said = f"**failed** on {result.device}: {result.failed} of {total} checks"
    else:
        said = {
            str(DeviceKind.NPU): "NPU: " + _text(result.hardware),
            str(DeviceKind.SIMULATED): "simulated device only",
            str(DeviceKind.NONE): "container without a device only",
        }[result.device]
    return f"{said}<br>{_text(result.date)}"
