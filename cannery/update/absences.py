# SPDX-License-Identifier: Apache-2.0
"""What package indexes have by now that compat.yaml calls absent, or knows nothing of. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from cannery.common.wheels import MACHINES
from cannery.compat.facts import Compat
from cannery.lock.index_versions import Answers, Kind, Question, Runtime
from cannery.update.updates import UpdateNotice

_PYTHONS = ("3.10", "3.11", "3.12")
_GLIBC = "2.39"
"""That of the newest base for which package indexes have wheels."""

APPLICATIONS = ("sglang", "vllm-ascend")
"""Packages of applications that have releases of their own for the NPU."""

_COME = "Enter its tags under 'wheels' of compat.yaml, and see which rows and targets follow."
_UNKNOWN = (
    "Add its rows to compat.yaml from its makers' table, which 'build.py update --new --table' "
    "reads, and its files under 'wheels'."
)


def absence_questions(compat: Compat) -> list[Question]:
    """What to ask an index for ``arrived``."""
    lacking = {row.package for row in compat.wheels if not row.pythons}
    runtimes = [
        Runtime(python=python, machine=machine, glibc=_GLIBC)
        for python in _PYTHONS
        for machine in MACHINES
    ]
    wheels = [
        Question(package=package, runtime=runtime, kind=Kind.WHEELS)
        for package in sorted(lacking)
        for runtime in runtimes
    ]
    any_file = [
        Question(package=package, runtime=runtimes[-1], kind=Kind.ANY) for package in APPLICATIONS
    ]
    return [*wheels, *any_file]


def arrived(compat: Compat, answers: Answers) -> Iterator[UpdateNotice]:
    """Wheels that compat.yaml calls absent, and newer releases of which it knows nothing."""
    for row in compat.wheels:
        for text in row.versions if not row.pythons else ():
            having = [
                question.runtime
                for question, versions in answers.items()
                if (question.kind, question.package) == (Kind.WHEELS, row.package)
                and row.machine in ("", question.runtime.machine)
                and Version(text) in versions
            ]
            if having:
                pythons = ", ".join(sorted({runtime.python for runtime in having}))
                what = f"{row.package} {text} has wheels by now, for Python {pythons}: {row.cited} "
                yield UpdateNotice(what=f"{what}says that there are none.", change=_COME)
    for package in APPLICATIONS:
        texts = [text for row in compat.wheels if row.package == package for text in row.versions]
        newest = max(map(Version, texts), default=Version("0"))
        offered = {
            version
            for question, versions in answers.items()
            if (question.kind, question.package) == (Kind.ANY, package)
            for version in versions
            if version > newest and not version.is_devrelease
        }
        if offered:
            listed = ", ".join(map(str, sorted(offered, reverse=True)))
            what = f"{package} {listed}: newer than {newest}, the last one that is known here."
            yield UpdateNotice(what=what, change=_UNKNOWN)
