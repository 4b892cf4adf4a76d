# SPDX-License-Identifier: Apache-2.0
"""Proposes targets with newer versions of the applications of matrix.yaml. Pure.

A new application is a copy of the newest one of its component with another version. Whether its
other requirements still fit is not known before its target has been locked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from cannery.common.errors import MatrixError
from cannery.common.model import Application, Target
from cannery.common.specifiers import normal_name, parse_requirements
from cannery.lock.index_questions import Answers, Question, runtime_of
from cannery.matrix.files import Data
from cannery.matrix.matrix import Matrix
from cannery.matrix.text import MatrixText
from cannery.update.propose_pairs import Proposed
from cannery.update.siblings import Addition, AxisValue, Known, NewValue, axis_values, with_value

_ANCHOR = re.compile(r"(?<=[\s\[{,])&[\w-]+ ")
_HAND = "Its targets are in no family, or none writes them out: add one by hand."


@dataclass(frozen=True, kw_only=True)
class _Used:
    """The newest application of a component: its package in the index, and its targets."""

    application: Application
    package: str
    targets: tuple[Target, ...]

    def questions(self) -> Iterator[Question]:
        for target in self.targets:
            yield Question(package=self.package, runtime=runtime_of(target))

    def newest(self, answers: Answers) -> str:
        """The newest final version that every target can have; "" if it is the one in use."""
        asked = [{*answers.get(question, ())} for question in self.questions()]
        offered = set.intersection(*asked) if asked else set()
        now = Version(self.application.version)
        newer = [each for each in offered if each > now and not each.is_prerelease]
        return str(max(newer)) if newer else ""


def application_questions(matrix: Matrix) -> list[Question]:
    """What to ask an index before ``propose_applications``."""
    return sorted({question for used in _used(matrix) for question in used.questions()})


def propose_applications(files: Data, matrix: Matrix, known: Known) -> Iterator[Proposed]:
    """One proposal for each newer version, each for the ``files`` of the one before it."""
    for used in _used(matrix):
        old, new = used.application.version, used.newest(known.answers)
        if not new:
            continue
        values = [
            value
            for value in axis_values(files)
            if value.get("application") == used.application.name
        ]
        targets: list[str] = []
        refused: dict[str, str] = {}
        problems = [] if values else [_HAND]
        for like in values:
            try:
                addition = _added(files, like, used, (old, new), known)
            except MatrixError as error:
                problems.append(f"{like.name} of family {like.family}: {error}")
                continue
            files = addition.files
            targets += addition.targets
            refused |= addition.refused
        yield Proposed(
            what=f"{used.package} {new}, as {used.application.name}.",
            addition=Addition(files=files, targets=tuple(targets), refused=refused),
            problem=" ".join(problems),
        )


def _used(matrix: Matrix) -> list[_Used]:
    users: dict[str, list[Target]] = {}
    for target in matrix.targets.values():
        if target.application:
            users.setdefault(target.application.name, []).append(target)
    newest: dict[str, _Used] = {}
    for targets in users.values():
        application = targets[0].application
        assert application
        package = _package(application)
        before = newest.get(application.component)
        if package and (before is None or _version(before.application) < _version(application)):
            used = _Used(application=application, package=package, targets=tuple(targets))
            newest[application.component] = used
    return [*newest.values()]


def _package(application: Application) -> str:
    """The first package that is required in exactly the version of ``application``.

    "" for an application that is not named after its version, and is not meant to move.
    """
    if _release(application.version) not in application.name:
        return ""
    for each in parse_requirements(application.requirements):
        if str(each.specifier) == f"=={application.version}":
            return normal_name(each.name)
    return ""


def _release(version: str) -> str:
    """``version`` without a post-release, as names have it."""
    try:
        return Version(version).base_version
    except InvalidVersion:
        return version


def _version(application: Application) -> Version:
    try:
        return Version(application.version)
    except InvalidVersion:
        return Version("0")


def _added(
    files: Data, like: AxisValue, used: _Used, versions: tuple[str, str], known: Known
) -> Addition:
    """``files`` with a value beside ``like``, and with the new application if it lacks that.

    Raises:
        MatrixError: it cannot be written.
    """
    old, new = (_release(each) for each in versions)
    new = versions[1] if new == old else new
    name = used.application.name
    new_name = name.replace(old, new)

    def change(place: tuple[str, ...], before: str) -> str:
        if place == ("application",):
            return new_name
        if place == ("unverified",):
            # It was said of the old version.
            return ""
        return before.replace(old, new) if place == ("summary",) else before

    matrix = MatrixText(files)
    copied = _copied(matrix.lines("applications", name), new_name, versions)
    has_it = new_name in matrix.keys("applications")
    also = [] if has_it else [(("applications",), copied)]
    renamed, value = _renamed(like.name, old, new), like.changed(change)
    return with_value(files, NewValue(name=renamed, value=value, like=like, also=also), known)


def _renamed(name: str, old: str, new: str) -> str:
    """The name of a value with the digits of the new version, as llamafactory096."""
    before, after = (re.sub(r"[^a-z0-9]", "", each) for each in (old, new))
    head, found, tail = name.rpartition(before)
    return f"{head}{after}{tail}" if found else f"{name}-{after}"


def _copied(lines: Sequence[str], new_name: str, versions: tuple[str, str]) -> tuple[str, ...]:
    """The ``lines`` of an application as those of ``new_name``, with the new version."""
    old, new = versions
    changed = [line.replace(f"=={old}", f"=={new}") for line in lines[1:]]
    changed = [re.sub(rf"^(\s*version: ){re.escape(old)}$", rf"\g<1>{new}", e) for e in changed]
    before, after = (_release(each) for each in versions)
    is_title = re.compile(r"\s*title: ").match
    changed = [each.replace(before, after) if is_title(each) else each for each in changed]
    # No two anchors may have the same name.
    plain = (e if e.lstrip().startswith("#") else _ANCHOR.sub("", e) for e in changed)
    return (f"{new_name}:", *plain)
