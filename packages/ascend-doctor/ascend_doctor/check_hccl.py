# SPDX-License-Identifier: Apache-2.0
"""HCCL on this node: its variables, its ports and its rank table."""

from __future__ import annotations

import re
from typing import Iterator

from .machine import Machine
from .numbers import number_set
from .ranktable.host_check import rank_table_problems
from .table import Found, found

PORTS = 32
"""The number of ports from the first on that HCCL uses: 60000 to 60031."""

FIRST_PORT = 60000
RESERVED = "/proc/sys/net/ipv4/ip_local_reserved_ports"

_TIMEOUTS = {"HCCL_CONNECT_TIMEOUT": 120, "HCCL_EXEC_TIMEOUT": 1800}
_CONNECT_RANGE = (120, 7200)
_LISTENING = "0A"
_LOCAL = re.compile(r"\|-- (\d+\.\d+\.\d+\.\d+)\s*\n\s*/32 host LOCAL", re.ASCII)


def check_timeouts(machine: Machine) -> Iterator[Found]:
    """HCCL_CONNECT_TIMEOUT and HCCL_EXEC_TIMEOUT."""
    for variable, default in _TIMEOUTS.items():
        value = machine.host.environment.get(variable)
        if value is None:
            if len(machine.cards) > 1:
                values = {"default": default, "cards": len(machine.cards)}
                yield found("hccl-timeout-default", variable=variable, **values)
            continue
        accepted = ""
        if not (value.isascii() and value.isdigit()):
            accepted = "it must be a whole number of seconds"
        elif variable == "HCCL_CONNECT_TIMEOUT":
            least, most = _CONNECT_RANGE
            if not least <= int(value) <= most:
                accepted = f"it must be from {least} to {most}"
        if accepted:
            yield found("hccl-timeout-range", variable=variable, value=value, accepted=accepted)


def check_addresses(machine: Machine) -> Iterator[Found]:
    """HCCL_IF_IP and HCCL_SOCKET_IFNAME."""
    environment = machine.host.environment
    address = environment.get("HCCL_IF_IP", "").partition("%")[0]
    known = addresses(machine)
    if address and known and address.lower() not in known:
        shown = ", ".join(sorted(known))
        yield found("hccl-if-ip", value=address, known=shown)
    value = environment.get("HCCL_SOCKET_IFNAME", "")
    interfaces = machine.host.names("/sys/class/net")
    if value and interfaces and not any(_fits(name, value) for name in interfaces):
        yield found("hccl-ifname", value=value, known=", ".join(interfaces))


def addresses(machine: Machine) -> set[str]:
    """The addresses of this network namespace."""
    local = set(_LOCAL.findall(machine.host.text("/proc/net/fib_trie") or ""))
    for line in (machine.host.text("/proc/net/if_inet6") or "").splitlines():
        digits = line.split(" ")[0]
        if len(digits) == 32:
            groups = [digits[n : n + 4].lstrip("0") or "0" for n in range(0, 32, 4)]
            local.add(_short_ipv6(groups))
    return local


def _short_ipv6(groups: list[str]) -> str:
    text = ":".join(groups)
    runs = [match[0] for match in re.finditer(r"\b0(?::0)+\b", text)]
    if not runs:
        return text
    head, _, tail = text.partition(max(runs, key=len))
    return "{}::{}".format(head.rstrip(":"), tail.lstrip(":"))


def _fits(interface: str, value: str) -> bool:
    """Whether HCCL would take ``interface``.

    ``value`` lists beginnings of names; after ``=`` whole names, and after ``^`` those left out.
    """
    negated, exact = value.startswith("^"), value.lstrip("^").startswith("=")
    names = [name for name in value.lstrip("^=").split(",") if name]
    listed = any(interface == name if exact else interface.startswith(name) for name in names)
    return listed != negated


def port_range(machine: Machine) -> tuple[int, int]:
    """The first and the last port that HCCL listens on."""
    base = machine.host.environment.get("HCCL_IF_BASE_PORT", "")
    first = int(base) if base.isdigit() and 0 < int(base) <= 65520 else FIRST_PORT
    return first, first + PORTS - 1


def check_ports(machine: Machine) -> Iterator[Found]:
    """Whether HCCL's ports are reserved, and free."""
    if len(machine.cards) < 2:
        return
    first, last = port_range(machine)
    ports = set(range(first, last + 1))
    words = (machine.host.text("/proc/sys/net/ipv4/ip_local_port_range") or "").split()
    reserved = number_set((machine.host.text(RESERVED) or "").strip())
    if len(words) == 2 and all(word.isdigit() for word in words):
        given_out = ports & set(range(int(words[0]), int(words[1]) + 1))
        if given_out - reserved:
            values: dict[str, object] = {"first": first, "last": last, "range": "-".join(words)}
            yield found("hccl-ports-open", **values)
    for port in sorted(_listening(machine) & ports)[:1]:
        yield found("hccl-ports-used", port=port)


def _listening(machine: Machine) -> set[int]:
    found_ports = set()
    for name in ("tcp", "tcp6"):
        for line in (machine.host.text("/proc/net/" + name) or "").splitlines()[1:]:
            words = line.split()
            if len(words) > 3 and words[3] == _LISTENING:
                port = words[1].rpartition(":")[2]
                if re.match(r"[0-9A-Fa-f]{4}$", port):
                    found_ports.add(int(port, 16))
    return found_ports


def check_rank_table(machine: Machine) -> Iterator[Found]:
    """The rank table that a variable names."""
    chips = [chip.name for chip in machine.smi.chips]
    for variable in ("RANK_TABLE_FILE", "RANKTABLEFILE"):
        path = machine.host.environment.get(variable)
        if path:
            for problem in rank_table_problems(machine.host.text(path), chips):
                yield found("rank-table", variable=variable, path=path, problem=problem)
