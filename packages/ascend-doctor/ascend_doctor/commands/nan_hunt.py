# SPDX-License-Identifier: Apache-2.0
"""``build.py nan-hunt``: which operator made the first inf or NaN?"""

from __future__ import annotations

from cannery.cli.common import read
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.nan_hunt import NanHuntOptions
from cannery.training.nan_hunt import hunt
from cannery.training.nan_hunt_report import hunt_json, hunt_text

_FOUND = 8
_UNSURE = 1


def run(given: Given, project: Project) -> int:
    """Search the dumps; the exit code is 8 if inf or NaN was found, 1 if it cannot be ruled out.

    Raises:
        TrainingError, FileError: as ``hunt``.
    """
    options = read(NanHuntOptions, given, project)
    found = hunt(options.dump)
    print(hunt_json(found) if options.json else hunt_text(found), end="")
    if found.first:
        return _FOUND
    return _UNSURE if found.problems or found.saturated else 0
