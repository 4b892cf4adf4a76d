# SPDX-License-Identifier: Apache-2.0
"""Makes rank tables: from the addresses of cards, a list of hosts, a ConfigMap, or other tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Mapping, Sequence

from ascend_doctor.hccn_conf import read_hccn_conf
from ascend_doctor.numbers import number_list, short_list
from ascend_doctor.problems import Problem, RankTableError

from .config_map import HCCL_JSON, table_in
from .model import Device, RankTable, Server
from .read import parse_rank_table

_NIC = {"host_nic_ip": "reserve"}
_KEYS = ("slots", "addresses", "super_pod", "super_devices")
_MOST_SLOTS = 1024


@dataclass(frozen=True)
class Host:
    """A server with the addresses of its cards, which can be empty.

    ``super_ids`` maps cards to their numbers in the SuperPoD ``pod``, for version 1.2.
    """

    server_id: str
    addresses: Mapping[int, str]
    super_ids: Mapping[int, str] = field(default_factory=dict)
    pod: str = ""


def of_hosts(hosts: Sequence[Host], version: str) -> RankTable:
    """The rank table of ``hosts``, whose ranks are numbered in their order."""
    if version == "1.2":
        _check_super_pods(hosts)
    rank = 0
    servers = []
    pods: dict[str, tuple[str, ...]] = {}
    for host in hosts:
        devices = []
        for card, address in sorted(host.addresses.items()):
            devices.append(
                Device(
                    device_id=card,
                    rank_id=rank,
                    device_ip=address,
                    super_device_id=host.super_ids.get(card, "") if version == "1.2" else "",
                )
            )
            rank += 1
        more = _NIC if version == "1.0" else {}
        servers.append(Server(server_id=host.server_id, devices=tuple(devices), more=more))
        if version == "1.2":
            pods[host.pod] = (*pods.get(host.pod, ()), host.server_id)
    return RankTable(version=version, servers=tuple(servers), pods=pods)


def _check_super_pods(hosts: Sequence[Host]) -> None:
    problems = [
        Problem(
            what=f"version 1.2 needs the SuperPoD of server {host.server_id} and the numbers of "
            "its cards in it.",
            fix="List it in the file of --hosts, with super_pod=ID and super_devices=ID,ID,…; "
            "'npu-smi info -t spod-info -i ID -c CHIP' shows both.",
        )
        for host in hosts
        if not host.pod or not host.super_ids
    ]
    if problems:
        raise RankTableError(problems)


def addresses_in(text: str, name: str, cards: str) -> dict[int, str]:
    """Card to address, from the text of a /etc/hccn.conf; only ``cards``, such as 0-7, if given."""
    conf = read_hccn_conf(text)
    found = {card: setting.value for card, setting in conf.of("address").items()}
    wanted = chosen(cards) if cards else sorted(found)
    missing = [card for card in wanted if card not in found]
    if missing or not found:
        of_cards = f" of cards {short_list(missing)}" if missing else ""
        what = f"{name} has no address{of_cards}."
        fix = "It is /etc/hccn.conf of a server, with lines such as address_0=10.0.0.36."
        raise RankTableError(Problem(what=what, fix=fix))
    return {card: found[card] for card in wanted}


def chosen(cards: str) -> list[int]:
    """The cards in a list such as ``0-3,8``."""
    numbers = number_list(cards)
    if not numbers or len({*numbers}) < len(numbers):
        what = f"invalid list of cards {cards!r}."
        raise RankTableError(Problem(what=what, fix="Write it as in 0-7 or 0,1,4."))
    return numbers


def hosts_in(text: str, name: str, cards: str) -> list[Host]:
    """The hosts in a file with a line a host: ``node-1 slots=8 addresses=10.0.0.36,…``."""
    hosts: list[Host] = []
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            try:
                hosts.append(_host(words, cards))
            except ValueError as error:
                where = f"{name}:{number}:1"
                fix = "Write it as in: node-1 slots=8 addresses=10.0.0.36,10.0.0.37"
                problems.append(Problem(what=f"{error}.", fix=fix, where=where))
    if not hosts and not problems:
        problems.append(Problem(what=f"{name} names no host."))
    if problems:
        raise RankTableError(problems)
    return hosts


def _host(words: Sequence[str], cards: str) -> Host:
    values: dict[str, str] = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals or key not in _KEYS or key in values:
            raise ValueError(f"invalid word {word!r}")
        values[key] = value
    lists = {
        key: [each for each in values.get(key, "").split(",") if each]
        for key in ("addresses", "super_devices")
    }
    slots = values.get("slots", str(len(lists["addresses"])))
    if not slots.isascii() or not slots.isdigit() or not 0 < int(slots) <= _MOST_SLOTS:
        raise ValueError(f"invalid number of slots {slots!r}")
    count = int(slots)
    for key, items in lists.items():
        if items and len(items) != count:
            raise ValueError(f"{slots} slots and {len(items)} {key}")
    numbers = chosen(cards) if cards else [*range(count)]
    if len(numbers) != count:
        raise ValueError(f"{slots} slots, and {len(numbers)} cards were chosen")
    return Host(
        server_id=words[0],
        addresses=dict(zip(numbers, lists["addresses"] or [""] * count)),
        super_ids=dict(zip(numbers, lists["super_devices"])),
        pod=values.get("super_pod", ""),
    )


def of_config_map(text: str, name: str) -> RankTable:
    """The rank table in a ConfigMap."""
    return parse_rank_table(table_in(text, name), f"{name}: {HCCL_JSON}")


def merged(tables: Sequence[RankTable]) -> RankTable:
    """One table of the servers of ``tables`` in their order, with ranks that are numbered anew.

    Within a server the order of ranks is kept.
    """
    versions = sorted({table.version for table in tables})
    if len(versions) > 1:
        what = f"the tables are of the versions {' and '.join(versions)}."
        raise RankTableError(Problem(what=what, fix="Merge tables of one version."))
    rank = 0
    servers: list[Server] = []
    pods: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for server in table.servers:
            devices = []
            for device in sorted(server.devices, key=lambda each: each.rank_id):
                devices.append(replace(device, rank_id=rank))
                rank += 1
            servers.append(replace(server, devices=tuple(devices)))
        for pod, names in table.pods.items():
            pods[pod] = (*pods.get(pod, ()), *names)
    return RankTable(version=versions[0], servers=tuple(servers), pods=pods)
