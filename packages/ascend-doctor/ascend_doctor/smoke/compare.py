# SPDX-License-Identifier: Apache-2.0
"""Compares the smoke tests of two hosts."""

from __future__ import annotations

from dataclasses import dataclass, fields

from .model import Device, Document

_NEAR = 0.1
"""Speeds that differ by less, of the first one, are called equal. It is this tool's own."""


@dataclass(frozen=True)
class Row:
    """A check on both hosts, in words, and whether the hosts differ in it."""

    name: str
    first: str
    second: str
    differs: bool
    remark: str = ""


def compare(first: Document, second: Document) -> list[Row]:
    """What the hosts are, and each check of both; speeds only if no device was simulated."""
    rows = []
    for key in fields(Device):
        values = [str(getattr(each.device, key.name)) for each in (first, second)]
        if values[0] != values[1]:
            rows.append(Row(name=key.name, first=values[0], second=values[1], differs=True))
    simulated = first.device.simulated or second.device.simulated
    before = {each.name: each for each in first.checks}
    after = {each.name: each for each in second.checks}
    for name in [*before, *(each for each in after if each not in before)]:
        one, other = before.get(name), after.get(name)
        if not one or not other:
            have = [each.standing if each else "-" for each in (one, other)]
            rows.append(Row(name=name, first=have[0], second=have[1], differs=True))
        elif one.value is not None and other.value is not None:
            if not simulated:
                rows.append(_speeds(name, one.value, other.value, one.unit))
        else:
            differs = one.standing is not other.standing
            rows.append(Row(name=name, first=one.standing, second=other.standing, differs=differs))
    return rows


def _speeds(name: str, first: float, second: float, unit: str) -> Row:
    texts = [f"{value:,.1f} {unit}" for value in (first, second)]
    if not first:
        return Row(name=name, first=texts[0], second=texts[1], differs=bool(second))
    share = second / first - 1
    differs = abs(share) > _NEAR
    return Row(name=name, first=texts[0], second=texts[1], differs=differs, remark=f"{share:+.0%}")
