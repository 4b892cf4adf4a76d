# SPDX-License-Identifier: Apache-2.0
"""What npu-smi says: whether it answers, the health of the cards, and what is left on them."""

from __future__ import annotations

from typing import Iterator

from .machine import SMI_SECONDS, Machine
from .table import Found, found

_KNOWN_CODES = (-8005, -8020, -9005)
_HELD = 0.15
"""The part of a card's memory from which on somebody is using it; idle cards use a twentieth."""


def check_smi(machine: Machine) -> Iterator[Found]:
    """Whether npu-smi answers, and in a known form."""
    output = machine.smi_output
    if output.state == "missing":
        if machine.cards:
            yield found("smi-missing")
        return
    if output.state == "hung":
        yield found("smi-hangs", seconds=SMI_SECONDS)
    elif machine.smi.code in _KNOWN_CODES:
        if machine.cards:
            yield found(f"dcmi{machine.smi.code}")
    elif output.state == "failed":
        if machine.cards:
            yield found("smi-failed", said=_last_line(output.text))
    elif not machine.smi.chips:
        yield found("smi-form")
    elif machine.smi.half:
        yield found("smi-cut", count=machine.smi.half)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "".join(c for c in lines[-1] if c.isprintable())[:200] if lines else "no message"


def check_cards(machine: Machine) -> Iterator[Found]:
    """The number of cards, their health, and processes that are on them."""
    smi = machine.smi
    if not smi.chips:
        return
    if machine.smi_output.state == "ok" and not smi.half and len(smi.chips) < len(machine.cards):
        yield found("cards-differ", shown=len(smi.chips), cards=len(machine.cards))
    for chip in smi.chips:
        if chip.health != "OK":
            yield found(
                "card-health",
                card=chip.number,
                name=chip.name,
                health=chip.health,
                npu=chip.npu,
                chip=chip.chip,
            )
    yield from _processes(machine)


def _processes(machine: Machine) -> Iterator[Found]:
    smi = machine.smi
    occupied = set()
    for process in smi.processes:
        card = smi.number_of(process.npu, process.chip)
        occupied.add((process.npu, process.chip))
        here = machine.number_here(process)
        yield found(
            "process-here" if here else "process-elsewhere",
            pid=here or process.pid,
            name=process.name or "unknown",
            memory=process.memory,
            card=card,
        )
    for chip in smi.chips:
        if (chip.npu, chip.chip) not in occupied and chip.used > _HELD * chip.total > 0:
            values = {"used": chip.used, "total": chip.total, "card": chip.number}
            yield found("memory-held", **values, npu=chip.npu, chip=chip.chip)
