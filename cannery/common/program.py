# SPDX-License-Identifier: Apache-2.0
"""The name of the program in texts for people: build.py in a checkout, else cannery."""

from __future__ import annotations

import re

_NAME = re.compile(r"(?<![\w./-])(?:python )?build\.py\b")
BUILD_PY = "python build.py"
COMMAND = "cannery"
_called = ""


def called(name: str) -> None:
    """Call the program ``name`` from now on; without a name build.py."""
    global _called  # noqa: PLW0603
    _called = name


def text(message: str) -> str:
    """``message``, which says build.py, with the name under which the program was started."""
    return _NAME.sub(_called, message) if _called else message
