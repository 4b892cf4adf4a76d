# SPDX-License-Identifier: Apache-2.0
"""What NNAL's set_env.sh sets, by release, from cann_environment.json, which names its sources."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from cannery.common.cann_version import CannVersion

_FILE = Path(__file__).with_suffix(".json")

_Values = dict[str, str | None]
"""Release to the value that holds from it on; None: the script sets the variable no more."""


def atb_variables(version: str) -> dict[str, str]:
    """Variable to value as the script of NNAL ``version`` has it, in its order.

    ``~`` and ``$ATB_HOME_PATH`` are left to the reader.
    """
    known = CannVersion.parse(version)
    found = {name: _value(values, known) for name, values in _variables().items()}
    return {name: value for name, value in found.items() if value is not None}


def _value(values: _Values, version: CannVersion) -> str | None:
    """The value of the newest release that is not newer than ``version`` and has a row."""
    before = max(version, _oldest())
    reached = [each for each in values if CannVersion.parse(each) <= before]
    return values[max(reached, key=CannVersion.parse)] if reached else None


@cache
def _variables() -> dict[str, _Values]:
    found: dict[str, _Values] = json.loads(_FILE.read_text(encoding="utf-8"))["atb"]
    return found


@cache
def _oldest() -> CannVersion:
    return min(CannVersion.parse(each) for values in _variables().values() for each in values)
