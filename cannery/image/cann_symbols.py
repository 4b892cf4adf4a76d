# SPDX-License-Identifier: Apache-2.0
"""The symbols that came with later releases of CANN: a file of ascend-sim, which measures them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from cannery.common.cann_version import CannVersion

SIMULATOR = Path(__file__).parents[2] / "packages" / "ascend-sim"
"""The product beside this one, with the sources of the simulated packages."""

SYMBOLS = SIMULATOR / "ascend_sim" / "cann_symbols.json"
"""Release to the symbols, as ``LIBRARY SYMBOL``, of which no source says that an older one has
them."""


def lacking(cann: CannVersion) -> list[str]:
    """What a simulated CANN of this release does not offer, sorted."""
    return sorted(line for first in later(cann) for line in firsts()[first])


def later(cann: CannVersion) -> list[str]:
    """The releases of SYMBOLS that are newer than ``cann``."""
    return [first for first in firsts() if CannVersion.parse(first) > cann]


@cache
def firsts() -> dict[str, list[str]]:
    """What is in SYMBOLS."""
    found: dict[str, list[str]] = json.loads(SYMBOLS.read_text(encoding="utf-8"))
    return found
