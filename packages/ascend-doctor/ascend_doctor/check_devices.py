# SPDX-License-Identifier: Apache-2.0
"""The devices: whether they are there, who may open them, and which of them CANN uses."""

from __future__ import annotations

from typing import Iterator

from .host import Status
from .machine import MANAGEMENT_DEVICES, Machine
from .table import Found, found

_HUAWEI = "0x19e5"
_ACCELERATOR = "0x12"
_DAC_OVERRIDE = 1 << 1
_READ_AND_WRITE = 6
_NAMES = {0: "root", 1000: "HwHiAiUser"}


def check_devices(machine: Machine) -> Iterator[Found]:
    """Missing devices and devices that may not be opened."""
    if not machine.cards:
        yield from _no_card(machine)
        return
    cards = [f"/dev/davinci{card}" for card in machine.cards]
    for device in [*cards, *MANAGEMENT_DEVICES]:
        status = machine.host.status(device)
        if status is None:
            yield found("device-missing", device=device)
        elif status.kind != "device":
            yield found("device-not-device", device=device)
        else:
            yield from _permissions(machine, device, status)


def _no_card(machine: Machine) -> Iterator[Found]:
    folder = "/sys/bus/pci/devices"
    on_bus = 0
    for name in machine.host.names(folder):
        vendor = machine.host.text(f"{folder}/{name}/vendor") or ""
        kind = machine.host.text(f"{folder}/{name}/class") or ""
        on_bus += vendor.strip() == _HUAWEI and kind.startswith(_ACCELERATOR)
    if on_bus and not machine.in_container:
        yield found("driver-not-loaded", count=on_bus)
    else:
        yield found("no-device")


def _permissions(machine: Machine, device: str, status: Status) -> Iterator[Found]:
    uids, gids = machine.numbers("Uid"), machine.numbers("Gid")
    if not uids or not gids:
        return
    # The second number is the effective one.
    uid, groups = uids[1], {gids[1], *machine.numbers("Groups")}
    try:
        capabilities = int(machine.process_status.get("CapEff", "0"), 16)
    except ValueError:
        capabilities = _DAC_OVERRIDE
    if capabilities & _DAC_OVERRIDE or _may_open(status, uid, groups):
        return
    owner = f"{_NAMES.get(status.uid, status.uid)}:{status.gid}"
    values = {"device": device, "owner": owner, "group": status.gid}
    if uid == 0:
        yield found("device-capability", **values)
    else:
        yield found("device-closed", user=uid, mode=f"{status.mode:o}", **values)


def _may_open(status: Status, uid: int, groups: set[int]) -> bool:
    if uid == status.uid:
        bits = status.mode >> 6
    elif status.gid in groups:
        bits = status.mode >> 3
    else:
        bits = status.mode
    return bits & _READ_AND_WRITE == _READ_AND_WRITE


def check_visible(machine: Machine) -> Iterator[Found]:
    """Variables that choose cards which are not here."""
    variable = "ASCEND_RT_VISIBLE_DEVICES"
    value = machine.host.environment.get(variable)
    if value is None:
        if machine.cards and machine.host.environment.get("CUDA_VISIBLE_DEVICES"):
            yield found("cuda-visible")
        return
    words = [word.strip() for word in value.split(",")]
    if not all(word.isdigit() for word in words):
        yield found("visible-unreadable", variable=variable, value=value)
        return
    numbers = [int(word) for word in words]
    if numbers != sorted({*numbers}):
        right = ",".join(map(str, sorted({*numbers})))
        yield found("visible-order", variable=variable, value=value, right=right)
    yield from _split_pairs(machine, variable, numbers)
    if machine.cards:
        # CANN counts the cards of a container from 0.
        count = len(machine.cards)
        limit = count if machine.in_container else max(machine.cards) + 1
        outside: list[int] = [int(word) for word in words if int(word) >= limit]
        if outside:
            known = ", ".join(str(card) for card in range(limit))
            yield found(
                "visible-missing",
                variable=variable,
                value=value,
                card=outside[0],
                cards=known,
                count=limit,
            )


def _split_pairs(machine: Machine, variable: str, numbers: list[int]) -> Iterator[Found]:
    """An Atlas 300I Duo has two chips, which a job on several chips has to use together."""
    pairs: dict[int, list[int]] = {}
    for chip in machine.smi.chips:
        if "310P" in chip.name:
            pairs.setdefault(chip.npu, []).append(chip.number)
    split = [
        npu
        for npu, chips in sorted(pairs.items())
        if len(chips) > 1 and 0 < len({*chips} & {*numbers}) < len(chips)
    ]
    if split and len({*numbers}) > 1:
        cards = ", ".join(map(str, split))
        yield found("pair-split", variable=variable, value=",".join(map(str, numbers)), cards=cards)
