# SPDX-License-Identifier: Apache-2.0
"""Checks whether the driver (HDK) of a host is new enough for a target's CANN."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cannery.common.cann_version import CannVersion
from cannery.common.errors import Problem
from cannery.common.model import Target
from cannery.compat.facts import Compat, Driver

_FORM = re.compile(
    r"(?P<train>[0-9]+\.[0-9]+)(?:\.(?P<rc>rc)?(?P<number>[0-9]+))?(?:\.b?(?P<build>[0-9]+))?\b",
    re.IGNORECASE | re.ASCII,
)


def version_in(text: str) -> str:
    """The version in a driver's version.info; empty if there is none."""
    match = re.search(r"(?m)^\s*(?:Version|package_version)\s*=\s*(\S+)", text)
    return match[1] if match else ""


def is_older(version: str, than: str) -> bool | None:
    """Whether ``version`` is older than ``than``; None if the format of one is unknown.

    A build (b090) is compared only if both versions have one; 25.0 is before 25.0.rc1.
    """
    found, bound = _FORM.match(version), _FORM.match(than)
    if not found or not bound:
        return None
    if _key(found) != _key(bound):
        return _key(found) < _key(bound)
    if found["build"] is None or bound["build"] is None:
        return False
    return int(found["build"]) < int(bound["build"])


def _key(match: re.Match[str]) -> tuple[int, ...]:
    major, minor = match["train"].split(".")
    is_final = match["number"] is not None and not match["rc"]
    return int(major), int(minor), int(is_final), int(match["number"] or 0)


def judge(version: str, target: Target, compat: Compat) -> Problem | str:
    """A problem with a host's driver for ``target``, or a note about it.

    It is a problem only if every source requires a newer driver. The note is empty if the driver
    satisfies all sources.
    """
    cann = target.cann.nearest_public if target.cann.interim else target.cann.version
    rows = [row for row in compat.drivers if row.cann == CannVersion.parse(cann)]
    if not rows:
        return f"no source names the oldest driver for CANN {cann}; this host has {version}."
    answers = {row: is_older(version, row.minimum) for row in rows}
    if None in answers.values():
        return f"the driver version of this host, {version!r}, has an unknown format."
    refusing = sorted((row for row in rows if answers[row]), key=lambda row: (row.rank, row.line))
    if not refusing:
        return _newer(version, rows)
    needed = refusing[0]
    what = (
        f"the driver of this host is {version}, but CANN {cann} needs {needed.minimum} or newer"
        f" ({needed.cited})"
    )
    if len(refusing) < len(rows):
        return f"{what}; other sources accept this driver."
    fix = "Update the driver of the host, or choose a target with an older CANN."
    return Problem(what=f"{what}.", fix=fix)


def _newer(version: str, rows: Sequence[Driver]) -> str:
    """A remark on a driver that is newer than all those that the sources name, else ""."""
    if not all(row.maximum and is_older(row.maximum, version) for row in rows):
        return ""
    newest = next(
        row for row in rows if not any(is_older(row.maximum, each.maximum) for each in rows)
    )
    return (
        f"the driver of this host is {version}, and the newest that is known to work with "
        f"CANN {newest.cann} is {newest.maximum} ({newest.cited})."
    )
