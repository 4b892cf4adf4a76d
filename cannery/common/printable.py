# SPDX-License-Identifier: Apache-2.0
"""Keeps what files of others say from controlling the terminal."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """``text`` with a question mark for each character that controls a terminal."""
    return _CONTROL.sub("?", text)
