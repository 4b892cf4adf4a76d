# SPDX-License-Identifier: Apache-2.0
"""Proposes targets with newer versions of the applications of matrix.yaml.

A new application is a copy of the newest one of its component with another version. Its other
requirements fit if its target can be locked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from packaging.version import InvalidVersion, Version

from cannery.common.errors import MatrixError
from cannery.common.model import Application, Target
from cannery.common.specifiers import normal_name, parse_requirements
from cannery.lock.index_questions import Answers, Question, runtime_of
from cannery.matrix.files import Data
from cannery.matrix.matrix import Matrix
from cannery.matrix.text import MatrixText
from cannery.update.propose import short
from cannery.update.siblings import AxisValue, Known, NewValue, Proposed, axis_values, with_value

_ANCHOR = re.compile(r"(?<=[\s\[{,])&[\w-]+ ")
_HAND = "Its targets are in no family, or none writes them out: add one by hand."


def application_questions(matrix: Matrix) -> list[Question]:
    """What to ask an index before ``propose_applications``."""
    return sorted({q for application in _newest(matrix) for q in _questions(*application[1:])})


def propose_applications(
    files: Data, matrix: Matrix, known: Known, answers: Answers
) -> Iterator[Proposed]:
    """A proposal for each target's value with a newer version, for the ``files`` of the last one.

    The version is the newest final one that every target can have.
    """
    for application, package, targets in _newest(matrix):
        offered = [{*answers.get(question, ())} for question in _questions(package, targets)]
        newer = [
            version
            for version in set.intersection(*offered)
            if version > Version(application.version) and not version.is_prerelease
        ]
        if not newer:
            continue
        new = str(max(newer))
        values = (v for v in axis_values(files) if v.get("application") == application.name)
        for like in [*values] or (None,):
            value = partial(_value, like=like, application=application, version=new)
            proposed = with_value(files, f"{package} {new}", value, known)
            files = proposed.files
            yield proposed


def _questions(package: str, targets: list[Target]) -> list[Question]:
    return [Question(package=package, runtime=runtime_of(target)) for target in targets]


def _newest(matrix: Matrix) -> list[tuple[Application, str, list[Target]]]:
    """The newest application of each component that is named after its version.

    With it its package, the first one required in exactly its version, and its targets.
    """
    users: dict[str, list[Target]] = {}
    for target in matrix.targets.values():
        if target.application:
            users.setdefault(target.application.name, []).append(target)
    newest: dict[str, tuple[Application, str, list[Target]]] = {}
    for targets in users.values():
        application = targets[0].application
        assert application
        version = application.version
        requirements = parse_requirements(application.requirements)
        packages = [normal_name(r.name) for r in requirements if str(r.specifier) == f"=={version}"]
        try:
            is_named = Version(version).base_version in application.name
        except InvalidVersion:
            continue
        last = newest.get(application.component)
        if packages and is_named and (not last or Version(last[0].version) < Version(version)):
            newest[application.component] = (application, packages[0], targets)
    return [*newest.values()]


def _value(files: Data, like: AxisValue | None, application: Application, version: str) -> NewValue:
    """A value beside ``like`` with the new ``version``, and the application if files lack it."""
    if like is None:
        raise MatrixError(_HAND)
    # Names have versions without a post-release.
    old, new = (Version(text).base_version for text in (application.version, version))
    new = version if new == old else new
    new_name = application.name.replace(old, new)

    def change(place: tuple[str, ...], text: str) -> str:
        if place == ("application",):
            return new_name
        if place == ("unverified",):
            return ""  # a statement about the old version
        return text.replace(old, new) if place == ("summary",) else text

    matrix = MatrixText(files)
    lines = [f"{new_name}:"]
    for line in matrix.lines("applications", application.name)[1:]:
        key, text = line.strip().partition(": ")[::2]
        changed = line.replace(f"=={application.version}", f"=={version}")
        if key == "version" and text == application.version:
            changed = line.replace(text, version)
        elif key == "title":
            changed = changed.replace(old, new)
        # No two anchors may have the same name.
        lines.append(changed if key.startswith("#") else _ANCHOR.sub("", changed))
    has_it = new_name in matrix.keys("applications")
    also = [] if has_it else [(("applications",), tuple(lines))]
    head, match, tail = like.name.rpartition(short(old))
    # As llamafactory096.
    name = f"{head}{short(new)}{tail}" if match else f"{like.name}-{short(new)}"
    return NewValue(name=name, like=like, change=change, also=also)
