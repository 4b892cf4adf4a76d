# SPDX-License-Identifier: Apache-2.0
"""Reads the file of exceptions: vulnerabilities that are accepted for a time, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cannery.common.clock import is_day
from cannery.common.yaml_reader import Section, read_yaml

_ID = re.compile(r"[A-Z][A-Za-z0-9]*(-[A-Za-z0-9:.]+)+")


@dataclass(frozen=True, kw_only=True)
class Exempted:
    """An exception: a vulnerability of a package that is accepted until the day ``expires``.

    ``line`` is the one in the file.
    """

    id: str
    package: str
    reason: str
    expires: str
    line: int

    def is_expired(self, today: str) -> bool:
        """Whether it ended before ``today``, as in ``2026-11-22``; its last day still counts."""
        return self.expires < today


def read_exceptions(path: Path) -> tuple[Exempted, ...]:
    """The exceptions in the file ``path``.

    Raises:
        FileError: it cannot be read.
        MatrixError: with every problem of the file, each with its line.
    """
    return read_yaml(path, path.name, exceptions_of)


def exceptions_of(top: Section) -> tuple[Exempted, ...]:
    """The exceptions of a file; problems go to ``top``."""
    if top.text("schema") not in ("1", ""):
        top.wrong("schema", "this version of cannery reads schema 1 only.")
    sections = top.mappings("exceptions", required=True, item="an exception")
    found: list[Exempted] = []
    for section in sections:
        each = _exception(section)
        first = next(
            (old for old in found if (old.id, old.package) == (each.id, each.package)), None
        )
        if first and each.id:
            what = f"{each.id} of {each.package} is given twice, first in line {first.line}."
            section.wrong("id", what, "Keep one of them.")
        found.append(each)
    return tuple(found)


def _exception(section: Section) -> Exempted:
    identifier, package = section.text("id"), section.text("package")
    if identifier and not _ID.fullmatch(identifier):
        fix = "Write it as in CVE-2025-32434 or GHSA-53q9-r3pm-6pq6."
        section.wrong("id", f"{identifier!r} is not the id of a vulnerability.", fix)
    reason, expires = section.text("reason"), section.text("expires")
    if expires and not is_day(expires):
        section.wrong("expires", f"{expires!r} is not a day.", "Write it as in 2027-01-31.")
    section.done()
    line = section.node.start_mark.line + 1
    return Exempted(id=identifier, package=package, reason=reason, expires=expires, line=line)


def expired(exceptions: Sequence[Exempted], today: str) -> list[Exempted]:
    """Those that no longer hold on the day ``today``."""
    return [each for each in exceptions if each.is_expired(today)]
