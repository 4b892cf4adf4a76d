# SPDX-License-Identifier: Apache-2.0
"""Runs all checks of a host. A check that fails does not stop the others."""

from __future__ import annotations

from typing import Any, Callable, Iterator

from .check_cards import check_cards, check_smi
from .check_devices import check_devices, check_visible
from .check_driver import check_cann, check_driver, check_library_path
from .check_hccl import check_addresses, check_ports, check_rank_table, check_timeouts
from .check_hccn import check_hccn_conf, check_links
from .check_resources import check_limits, check_memory, check_processors
from .check_storage import check_drives, check_proxies
from .machine import Machine
from .table import Found, found

Check = Callable[[Machine], Iterator[Found]]

CHECKS: tuple[Check, ...] = (
    *(check_devices, check_visible, check_driver, check_library_path, check_cann),
    *(check_smi, check_cards, check_memory, check_limits, check_processors),
    *(check_timeouts, check_addresses, check_ports, check_rank_table),
    *(check_hccn_conf, check_links, check_drives, check_proxies),
)


def examine(machine: Machine) -> list[Found]:
    """Everything that the checks find on a host."""
    results: list[Found] = []
    for check in CHECKS:
        try:
            results += check(machine)
        except Exception as error:  # noqa: BLE001 - the host is strange, and the rest still counts
            said = f"{type(error).__name__}: {error}"
            results.append(found("check-failed", check=check.__name__, error=said[:200]))
    user = (machine.numbers("Uid") or (0, "?"))[1]
    paths = dict.fromkeys(machine.host.unreadable)
    results += [found("unreadable", path=path, user=user) for path in paths]
    return results


def describe(machine: Machine) -> dict[str, Any]:
    """What the report says about the host besides findings; nodes are compared by it."""
    host = machine.host
    address = machine.hccn.of("address") if machine.hccn else {}
    variables = {k: v for k, v in host.environment.items() if k.startswith("HCCL_")}
    chips = machine.smi.chips
    return {
        "name": (host.text("/proc/sys/kernel/hostname") or "").strip(),
        "kernel": (host.text("/proc/sys/kernel/osrelease") or "").strip(),
        "container": machine.in_container,
        "driver": machine.driver_version,
        "firmware": machine.firmware_version,
        "cann": machine.cann,
        "cards": machine.cards,
        "chips": [chip.name for chip in chips],
        "addresses": {str(card): setting.value for card, setting in sorted(address.items())},
        "variables": dict(sorted(variables.items())),
        "time": round(host.time(), 3),
    }
