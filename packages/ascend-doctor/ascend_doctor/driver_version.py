# SPDX-License-Identifier: Apache-2.0
"""The order of driver (HDK) versions.

They have the formats of compat.yaml: 25.5.0, 24.1.rc3, 23.0.rc2.b090; 25.0 is before 25.0.rc1.
"""

from __future__ import annotations

import re
from typing import Match

_FORM = re.compile(
    r"(?P<train>\d+\.\d+)(?:\.(?P<rc>rc)?(?P<number>\d+))?(?:\.b?(?P<build>\d+))?\b",
    re.IGNORECASE | re.ASCII,
)


def version_in(text: str) -> str:
    """The version in a driver's version.info; empty if there is none."""
    match = re.search(r"(?m)^\s*(?:Version|package_version)\s*=\s*(\S+)", text)
    return match[1] if match else ""


def is_older(version: str, than: str) -> bool | None:
    """Whether ``version`` is older than ``than``; None if the format of one is unknown.

    A build (b090) is compared only if both versions have one.
    """
    found, bound = _FORM.match(version), _FORM.match(than)
    if not found or not bound:
        return None
    if _key(found) != _key(bound):
        return _key(found) < _key(bound)
    if found["build"] is None or bound["build"] is None:
        return False
    return int(found["build"]) < int(bound["build"])


def _key(match: Match[str]) -> tuple[int, ...]:
    major, minor = match["train"].split(".")
    is_final = match["number"] is not None and not match["rc"]
    return int(major), int(minor), int(is_final), int(match["number"] or 0)
