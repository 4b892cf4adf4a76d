# SPDX-License-Identifier: Apache-2.0
"""Reads /etc/hccn.conf, which has the network settings of the cards, and lists of cards."""

from __future__ import annotations

import re
from typing import NamedTuple

_RANGE = re.compile(r"\s*([0-9]{1,6})(?:-([0-9]{1,6}))?\s*$", re.ASCII)
_MOST = 1 << 17
_LINE = re.compile(r"\s*([A-Za-z]\w*?)_([0-9]{1,4})\s*=\s*(.*?)\s*$", re.ASCII)


class Setting(NamedTuple):
    """The value of a setting of one card, and its line."""

    value: str
    line: int


class HccnConf(NamedTuple):
    """The settings: name to card to value. ``unread`` are lines that have another form."""

    settings: dict[str, dict[int, Setting]]
    unread: tuple[tuple[int, str], ...]

    def of(self, name: str) -> dict[int, Setting]:
        """Card to the value of the setting ``name``."""
        return self.settings.get(name, {})


def read_hccn_conf(text: str) -> HccnConf:
    """The settings in ``text``; of a setting that is there twice, the last is used."""
    settings: dict[str, dict[int, Setting]] = {}
    unread: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.match(line)
        if match:
            settings.setdefault(match[1], {})[int(match[2])] = Setting(match[3], number)
        elif line.strip() and not line.lstrip().startswith("#") and "=" not in line:
            unread.append((number, line.strip()[:80]))
    return HccnConf(settings, tuple(unread))


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


def short_list(numbers: list[int]) -> str:
    """``0-3,8`` for these numbers."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)
