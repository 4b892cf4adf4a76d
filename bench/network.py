# SPDX-License-Identifier: Apache-2.0
"""A network bridge for the containers of the bench's engine, with access to the network.

The engine itself does not use iptables: a second engine that writes docker's chains would cut off
the first engine's network.
"""

from __future__ import annotations

import ipaddress
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from cannery.common.errors import EngineError, Problem
from cannery.common.process import run

BRIDGE = "cannery-bench"

_MAC = "02:63:61:6e:6e:62"
"""A bridge without its own address takes that of a container; when that container stops, the others
lose the network for most of a minute."""

_POOL = ipaddress.IPv4Network("10.208.0.0/12")


@contextmanager
def bridge() -> Iterator[None]:
    """Make the bridge and its rules, and always remove them at the end.

    Raises:
        EngineError: this machine does not allow it.
    """
    remove()
    subnet = free_subnet(_used())
    try:
        _must("ip", "link", "add", BRIDGE, "address", _MAC, "type", "bridge")
        _must("ip", "address", "add", f"{subnet[1]}/{subnet.prefixlen}", "dev", BRIDGE)
        _must("ip", "link", "set", BRIDGE, "up")
        for rule in _rules(str(subnet)):
            table, chain, *rest = rule
            _must("iptables", "-w", "-t", table, "-I", chain, *rest)
        yield
    finally:
        with undisturbed():
            remove()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore further interrupts while the bench cleans up."""
    before = {each: signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def remove() -> None:
    """Remove the bridge and its rules, also those of an earlier run that was killed."""
    for table in ("nat", "filter"):
        code, said = run(["iptables", "-w", "-t", table, "-S"])
        for line in said.splitlines() if code == 0 else ():
            if line.startswith("-A ") and BRIDGE in line.split():
                run(["iptables", "-w", "-t", table, "-D", *line.split()[1:]])
    run(["ip", "link", "delete", BRIDGE])


def _rules(subnet: str) -> list[tuple[str, ...]]:
    return [
        ("nat", "POSTROUTING", "-s", subnet, "!", "-o", BRIDGE, "-j", "MASQUERADE"),
        ("filter", "FORWARD", "-i", BRIDGE, "-j", "ACCEPT"),
        ("filter", "FORWARD", "-o", BRIDGE, "-j", "ACCEPT"),
    ]


def free_subnet(used: list[ipaddress.IPv4Network]) -> ipaddress.IPv4Network:
    """The first /24 of the pool that this machine does not use.

    Raises:
        EngineError: all are in use.
    """
    for subnet in _POOL.subnets(new_prefix=24):
        if not any(subnet.overlaps(other) for other in used):
            return subnet
    raise EngineError(f"all networks in {_POOL} are in use on this machine; the bench needs one.")


def _used() -> list[ipaddress.IPv4Network]:
    _, said = run(["ip", "-json", "-4", "address"])
    try:
        links = json.loads(said)
    except ValueError:
        return []
    return [
        ipaddress.IPv4Network(f"{address['local']}/{address['prefixlen']}", strict=False)
        for link in links
        for address in link.get("addr_info", ())
    ]


def _must(*argv: str) -> None:
    code, said = run(argv)
    if code:
        raise EngineError(
            Problem(
                what=f"'{' '.join(argv)}' failed: {said.strip()}.",
                fix="The bench needs root, iproute2 and iptables for its own engine.",
            )
        )
