# SPDX-License-Identifier: Apache-2.0
"""Reads /etc/hccn.conf, which has the network settings of the cards, as address_0=192.168.1.10."""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE = re.compile(r"\s*([A-Za-z]\w*?)_(\d{1,4})\s*=\s*(.*?)\s*$", re.ASCII)


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
