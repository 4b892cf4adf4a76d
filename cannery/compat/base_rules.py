# SPDX-License-Identifier: Apache-2.0
"""What is known of a target's operating system and of the interpreter that it installs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cannery.common.bases import Base, PythonSource
from cannery.common.errors import did_you_mean
from cannery.common.references import full_reference
from cannery.compat.facts import Suite
from cannery.compat.finding import Finding, Place, Subject, Verdict

_ARCHIVE = re.compile(
    r"cpython-(?P<version>3\.[0-9]+\.[0-9]+)(?:\+[0-9]+)?-(?P<machine>[a-z0-9_]+?)-\S*"
)
"""How python-build-standalone names an archive; the machine ends at the first '-'."""


def judge_base(subject: Subject) -> list[Finding]:
    """The bases, of the image and of the build stage, and the interpreter."""
    target = subject.target
    findings = [
        finding for base in (target.base, target.build_base) for finding in _base(subject, base)
    ]
    unique = {(each.place, each.text): each for each in findings}
    return [*unique.values(), *_interpreter(subject)]


def _base(subject: Subject, base: Base) -> Iterator[Finding]:
    suites = {row.suite: row for row in subject.compat.suites}
    row = suites.get(base.suite)
    if row is None:
        text = f"unknown suite {base.suite!r} of base {base.name}."
        yield _wrong(base, "suite", text, fix=did_you_mean(base.suite, suites))
        return
    if base.distribution.name != row.distribution:
        text = f"{row.suite} is a release of {row.distribution}, not of {base.distribution.name}."
        fix = f"Write distribution: {row.distribution}, or another suite."
        yield _wrong(base, "suite", text, row, fix=fix)
        return
    named = full_reference(base.image)
    distribution, tag = named.repository.rpartition("/")[2], named.tag
    if distribution != row.distribution:
        text = (
            f"base {base.name} is made from image {distribution!r}, and packages of its suite "
            f"{row.suite} are installed in it with {base.distribution.package_manager}."
        )
        fix = f"Take an image of {row.distribution} {row.suite}, or a copy that is named so."
        yield _wrong(base, "image", text, row, fix=fix)
    elif other := _other_suite(tag, row, subject.compat.suites):
        text = f"base {base.name} is image {distribution}:{tag}, which is {other}, not {row.suite}."
        yield _wrong(base, "image", text, row, fix="Make image and suite agree.")
    if base.glibc != row.glibc:
        text = f"{row.suite} has glibc {row.glibc}, not {base.glibc}."
        yield _wrong(base, "glibc", text, row, fix=f"Write {row.glibc}.")


def _other_suite(tag: str, row: Suite, rows: tuple[Suite, ...]) -> str:
    """The suite that ``tag`` names, if that is another one than that of ``row``."""
    named = re.match(r"[a-z]+|[0-9]+(\.[0-9]+)*", tag)
    for other in rows:
        # A point release, as 12.5, is that of its suite.
        is_named = named and (
            named[0] == other.suite or f"{named[0]}.".startswith(f"{other.release}.")
        )
        if is_named and other.distribution == row.distribution:
            return "" if other is row else other.suite
    return ""


def _wrong(base: Base, key: str, text: str, *rows: Suite, fix: str) -> Finding:
    return Finding(
        component="base",
        verdict=Verdict.FORBIDDEN,
        text=text,
        key="base",
        place=("bases", base.name, key),
        rows=rows,
        fix=fix,
    )


def _interpreter(subject: Subject) -> Iterator[Finding]:
    python, base = subject.target.python, subject.target.base
    place: Place = ("pythons", python.name)
    if python.source is PythonSource.BASE:
        row = next((row for row in subject.compat.suites if row.suite == base.suite), None)
        if row and row.python != python.version:
            text = f"{row.suite} has Python {row.python}, not {python.version}."
            fix = f"Write {row.python}, or take an archive with 'source: standalone'."
            yield _python(text, (*place, "version"), fix, row)
        return
    machine = subject.target.machine
    name = python.archives[machine].name
    match = _ARCHIVE.fullmatch(name)
    wrong = ""
    if not name.endswith(".tar.gz"):
        wrong = "it is not a .tar.gz archive"
    elif match and match["version"] != python.version:
        wrong = f"it is Python {match['version']}, and the version is {python.version}"
    elif match and match["machine"] != machine:
        wrong = f"it is for {match['machine']}, and the target's machine is {machine}"
    elif match and ("linux" not in name or "musl" in name):
        wrong = "it is not for Linux with glibc"
    if wrong:
        fix = "Correct the file name, or declare the archive that is meant as another interpreter."
        text = f"{name} cannot be {python.name}: {wrong}."
        yield _python(text, (*place, "archive", "file"), fix)


def _python(text: str, place: Place, fix: str, *rows: Suite) -> Finding:
    return Finding(
        component="python",
        verdict=Verdict.FORBIDDEN,
        text=text,
        key="python",
        place=place,
        rows=rows,
        fix=fix,
    )
