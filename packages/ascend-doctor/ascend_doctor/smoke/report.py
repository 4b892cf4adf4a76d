# SPDX-License-Identifier: Apache-2.0
"""Smoke tests, and comparisons of them, as text."""

from __future__ import annotations

from typing import Sequence

from ascend_doctor.plain_text import columns, printable
from ascend_doctor.problems import counted

from .compare import Row
from .model import Device, Document


def to_text(document: Document) -> str:
    """What was found, a line for each check."""
    device = document.device
    failed = len(document.failures)
    head = f"{counted(failed, 'check')} failed" if failed else "passed"
    kind = "simulated " if device.simulated else ""
    lines = [
        f"{f'{document.where} on ' if document.where else ''}{document.host}: {head}",
        f"{counted(device.count, f'{kind}card')} {device.name}, {', '.join(_versions(device))}",
        document.hardware,
    ]
    if device.simulated:
        lines.append("The device is simulated: nothing here says anything about an NPU or a speed.")
    mark = " (simulated)" if device.simulated else ""
    rows = [[each.name, f"{each.standing}{mark}", each.text] for each in document.checks]
    sources = dict.fromkeys(each.source for each in document.checks if each.source)
    lines += ["", *columns(rows), *(f"source: {source}" for source in sources)]
    return printable("\n".join(lines)) + "\n"


def _versions(device: Device) -> list[str]:
    named = {
        "driver": device.driver or "unknown",
        "torch": device.torch,
        "torch_npu": device.torch_npu,
        "Python": device.python,
    }
    return [f"{name} {version}" for name, version in named.items()]


def to_comparison(first: Document, second: Document, rows: Sequence[Row]) -> str:
    """The rows in which the hosts differ first; equal ones after them."""
    differing = [each for each in rows if each.differs]
    lines = [f"{first.host} and {second.host}: {counted(len(differing), 'difference')}"]
    if first.device.simulated or second.device.simulated:
        lines.append("A device is simulated, so speeds are not compared.")
    table = [["", first.host, second.host, ""]]
    for each in [*differing, *(each for each in rows if not each.differs)]:
        mark = "differs" if each.differs else ""
        table.append([each.name, each.first, each.second, f"{each.remark} {mark}".strip()])
    return printable("\n".join([*lines, "", *columns(table)])) + "\n"
