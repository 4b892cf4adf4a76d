# SPDX-License-Identifier: Apache-2.0
"""A bridge of the bench's own for the private engine's containers, and the way out for it.

The engine itself is told to leave iptables alone: a second engine that writes docker's chains would
take the first one's network away.
"""

from __future__ import annotations

import ipaddress
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from cannery.errors import EngineError, Problem
from cannery.execute.process import run

BRIDGE = "cannery-bench"

_MAC = "02:63:61:6e:6e:62"
"""Without one of its own a bridge takes that of whichever container comes, and when that one goes
the others lose their way out for most of a minute."""

_POOL = ipaddress.IPv4Network("10.208.0.0/12")


@contextmanager
def bridge() -> Iterator[str]:
    """Make the bridge and let it reach the network; take both away whatever happens.

    Raises:
        EngineError: this machine does not let us.
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
        yield BRIDGE
    finally:
        with undisturbed():
            remove()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let a second Ctrl-C wait until what was started is gone."""
    before = {each: signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def remove() -> None:
    """Remove the bridge and its rules, where an earlier run that was killed has left them too."""
    for table in ("nat", "filter"):
        code, said = run(["iptables", "-w", "-t", table, "-S"], capture=True)
        for line in said.splitlines() if code == 0 else ():
            if line.startswith("-A ") and BRIDGE in line.split():
                run(["iptables", "-w", "-t", table, "-D", *line.split()[1:]], capture=True)
    run(["ip", "link", "delete", BRIDGE], capture=True)


def _rules(subnet: str) -> list[tuple[str, ...]]:
    return [
        ("nat", "POSTROUTING", "-s", subnet, "!", "-o", BRIDGE, "-j", "MASQUERADE"),
        ("filter", "FORWARD", "-i", BRIDGE, "-j", "ACCEPT"),
        ("filter", "FORWARD", "-o", BRIDGE, "-j", "ACCEPT"),
    ]


def free_subnet(used: list[ipaddress.IPv4Network]) -> ipaddress.IPv4Network:
    """The first /24 of our pool that nothing on this machine uses.

    Raises:
        EngineError: there is none.
    """
    for subnet in _POOL.subnets(new_prefix=24):
        if not any(subnet.overlaps(other) for other in used):
            return subnet
    raise EngineError(f"every network in {_POOL} is in use here; the bench needs one for itself.")


def _used() -> list[ipaddress.IPv4Network]:
    _, said = run(["ip", "-json", "-4", "address"], capture=True)
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
    code, said = run(argv, capture=True)
    if code:
        raise EngineError(
            Problem(
                what=f"'{' '.join(argv)}' failed: {said.strip()}.",
                fix="The bench needs root, iproute2 and iptables, for an engine of its own.",
            )
        )
