# SPDX-License-Identifier: Apache-2.0
"""The symbols that came with later releases of CANN; `nox -s releases` writes the file."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from cannery.common.cann_version import CannVersion

SYMBOLS = Path(__file__).with_name("cann_symbols.json")
"""Release to the symbols, as ``LIBRARY SYMBOL``, of which no source says that an older one has
them. docs/simulator-releases.md names the sources."""


def lacking(cann: CannVersion) -> list[str]:
    """What a simulated CANN of this release does not offer, sorted."""
    return sorted(
        line
        for first, lines in _firsts().items()
        if CannVersion.parse(first) > cann
        for line in lines
    )


@cache
def _firsts() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(SYMBOLS.read_text(encoding="utf-8"))
    return found
