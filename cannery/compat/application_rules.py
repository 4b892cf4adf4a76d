# SPDX-License-Identifier: Apache-2.0
"""Whether a source has a target's application beside its torch, CANN and Python."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from cannery.common.model import Application
from cannery.common.specifiers import normal_name
from cannery.compat.facts import ApplicationRow
from cannery.compat.finding import Finding, Subject, Verdict, best_first

_OF_THEIR_OWN = ("vllm", "mindspore")
"""Components that other rows are about: those of vllm-ascend, and of mindspore."""


def judge_application(subject: Subject) -> Iterator[Finding]:
    """One finding for an application, unless other rows are about it.

    What its maker's wheel excludes is refused. Where no source has the pair, nothing is known.
    """
    application = subject.target.application
    if application is None or application.component in _OF_THEIR_OWN:
        return
    rows = [row for row in subject.compat.applications if _is_about(row, application)]
    name = f"{application.component} {application.version}"
    if bad := [row for row in rows if row.is_makers and not _fits(row, subject)]:
        row = bad[0]
        text = f"{name} is for {_conditions(row)} by its own metadata, not for {_pair(subject)}."
        fix = "Take another version of it, or another torch or Python."
        yield _finding(subject, Verdict.FORBIDDEN, text, [row], fix)
        return
    if seen := [row for row in rows if row.cann is not None and _fits(row, subject)]:
        text = f"{name} was seen with {_pair(subject)}."
        yield _finding(subject, Verdict.ALLOWED, text, seen)
        return
    text = f"no source has {name} with {_pair(subject)}"
    if others := [row for row in rows if row.cann is not None]:
        text += f", only with {'; '.join(map(_conditions, others))}"
    yield _finding(subject, Verdict.NOT_JUDGED, f"{text}.", rows)


def _is_about(row: ApplicationRow, application: Application) -> bool:
    wanted = row.application
    return normal_name(wanted.name) == normal_name(application.component) and (
        wanted.specifier.contains(application.version, prereleases=True)
    )


def _fits(row: ApplicationRow, subject: Subject) -> bool:
    torch = subject.torch or Version("0")
    return all(
        (
            row.torch is None or row.torch.contains(torch, prereleases=True),
            row.cann is None or subject.judged_as in row.cann,
            not row.pythons or subject.target.python.minor in row.pythons,
        )
    )


def _conditions(row: ApplicationRow) -> str:
    pythons = f"{row.pythons[0]} to {row.pythons[-1]}" if row.pythons[1:] else "".join(row.pythons)
    parts = {"torch": row.torch, "CANN": row.cann, "Python": pythons}
    return ", ".join(f"{key} {value}" for key, value in parts.items() if value)


def _pair(subject: Subject) -> str:
    target = subject.target
    torch = f"torch {target.torch}, " if target.torch else ""
    return f"{torch}{subject.cann_name} and Python {target.python.minor}"


def _finding(
    subject: Subject, verdict: Verdict, text: str, rows: list[ApplicationRow], fix: str = ""
) -> Finding:
    assert subject.target.application
    return Finding(
        component=subject.target.application.component,
        verdict=verdict,
        text=text,
        key="application",
        rows=best_first(rows),
        fix=fix,
    )
