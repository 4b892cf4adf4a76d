# SPDX-License-Identifier: Apache-2.0
"""Lists of numbers as the kernel writes them, and amounts of memory as people read them."""

from __future__ import annotations

import re

_RANGE = re.compile(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*$", re.ASCII)
_MOST = 1 << 17


def number_list(text: str) -> list[int] | None:
    """The numbers in ``0-3,8``, in order; None if ``text`` is not such a list."""
    found: list[int] = []
    for part in text.split(","):
        match = _RANGE.match(part)
        if not match:
            return None
        first = int(match[1])
        last = int(match[2] or first)
        if last < first or last - first > _MOST:
            return None
        found += range(first, last + 1)
    return found


def number_set(text: str) -> set[int]:
    """The numbers in ``0-3,8``; none if ``text`` is not such a list."""
    return set(number_list(text) or ())


def short_list(numbers: list[int]) -> str:
    """``0-3,8`` for these numbers."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)


def amount(size: float) -> str:
    """A size in bytes with its unit, as in ``64 MB``."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024:
            return f"{round(size, 1):g} {unit}"
        size /= 1024
    return f"{round(size, 1):g} TB"
