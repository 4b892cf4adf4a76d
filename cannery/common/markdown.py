# SPDX-License-Identifier: Apache-2.0
"""Text for Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*\[\]<>#|~]|(?<!\w)_|_(?!\w))")


def escaped(text: str) -> str:
    """``text`` escaped for Markdown and HTML, on one line, for a cell."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split())).replace("&", "&amp;")


def code(text: str) -> str:
    """As ``_text``, in the font of code; for names, which have no backticks."""
    return f"`{' '.join(text.split()).replace('|', chr(92) + '|')}`"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table, whose cells are escaped; code has backticks around it already."""
    lines = [heads, ["--"] * len(heads), *rows]
    return [f"| {' | '.join(_cell(each) for each in line)} |" for line in lines]


def _cell(content: str) -> str:
    is_code = len(content) > 1 and content[0] == content[-1] == "`"
    return code(content[1:-1]) if is_code else escaped(content)
