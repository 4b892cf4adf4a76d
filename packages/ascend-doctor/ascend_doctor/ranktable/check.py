# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a rank table that HCCL would refuse, or hang with."""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Iterator, Sequence

from ascend_doctor.problems import Problem, did_you_mean

from .model import COMPLETED, VERSIONS, RankTable

_LONGEST_ID = 64
_MOST_NAMED = 8


def check_rank_table(table: RankTable, name: str) -> list[Problem]:
    """Every problem of ``table``, from a file called ``name``."""
    found = [
        *_head(table),
        *_servers(table),
        *_ranks(table),
        *_addresses(table),
        *_pods(table),
    ]
    return [each._replace(where=name) for each in found]


def _head(table: RankTable) -> Iterator[Problem]:
    if table.version not in VERSIONS:
        fix = did_you_mean(table.version, VERSIONS) or f"Use {' or '.join(VERSIONS)}."
        yield Problem(what=f"unknown version {table.version!r}.", fix=fix)
    if table.status != COMPLETED:
        what = f"the status is {table.status!r}, not {COMPLETED!r}."
        yield Problem(what=what, fix="Wait until the operator has written the table.")


def _servers(table: RankTable) -> Iterator[Problem]:
    for server, times in Counter(each.server_id for each in table.servers).items():
        if times > 1:
            what = f"server {server} is there {times} times."
            yield Problem(what=what, fix="Leave out all but one; was one file merged twice?")
        if len(server) > _LONGEST_ID:
            yield Problem(what=f"the server_id {server[:20]}… has more than 64 characters.")
    sizes = Counter(len(each.devices) for each in table.servers)
    most = max(sizes, default=0)
    everywhere = {device.device_id for _, device in table.devices}
    for each in table.servers:
        cards = [device.device_id for device in each.devices]
        for card, times in Counter(cards).items():
            if times > 1:
                yield Problem(what=f"server {each.server_id} has device {card} {times} times.")
        missing = sorted(everywhere - {*cards})
        if len(cards) < most and missing:
            what = f"server {each.server_id} has {len(cards)} devices, others have {most}:"
            what += f" {_listed('device', missing)} missing."
            fix = "Write its part again, or leave the device out on every server."
            yield Problem(what=what, fix=fix)


def _ranks(table: RankTable) -> Iterator[Problem]:
    owners: dict[int, list[str]] = {}
    for server, device in table.devices:
        owners.setdefault(device.rank_id, []).append(f"{server.server_id}/{device.device_id}")
    for rank, places in sorted(owners.items()):
        if len(places) > 1:
            what = f"rank {rank} is there {len(places)} times: {', '.join(places[:_MOST_NAMED])}."
            yield Problem(what=what, fix="'ascend-doctor ranktable merge' numbers the ranks anew.")
    missing = sorted({*range(len(table.devices))} - {*owners})
    if missing:
        what = f"{_listed('rank', missing)} missing of {len(table.devices)}."
        yield Problem(what=what, fix="Ranks are numbered from 0 without gaps.")
    for server in table.servers:
        ranks = sorted(device.rank_id for device in server.devices)
        if ranks and ranks[-1] - ranks[0] + 1 > len(ranks) and not missing:
            what = f"the ranks of server {server.server_id} are not consecutive."
            yield Problem(what=what, fix="Number the ranks of one server after the other.")


def _addresses(table: RankTable) -> Iterator[Problem]:
    owners: dict[str, list[str]] = {}
    families, without, wrong = set(), [], {}
    for server, device in table.devices:
        place = f"{server.server_id}/{device.device_id}"
        try:
            families.add(ipaddress.ip_address(device.device_ip).version)
            owners.setdefault(device.device_ip, []).append(place)
        except ValueError:
            if device.device_ip:
                wrong[place] = device.device_ip[:40]
            elif _needs_addresses(table):
                without.append(place)
    fix = "/etc/hccn.conf of the server has it."
    if without:
        yield Problem(what=f"{_listed('device', without)} without device_ip.", fix=fix)
    if wrong:
        value = next(iter(wrong.values()))
        what = f"{_listed('device', [*wrong])} without an address: device_ip is {value!r}."
        yield Problem(what=what, fix=fix)
    for address, places in owners.items():
        # A device that is there twice is a problem of its own.
        if len({*places}) > 1:
            what = f"address {address} belongs to several devices: {', '.join(places)}."
            yield Problem(what=what, fix="Give each card its own address with hccn_tool.")
    if len(families) > 1:
        yield Problem(what="the addresses are of IPv4 and of IPv6.", fix="Use one of them.")


def _needs_addresses(table: RankTable) -> bool:
    return len(table.pods) > 1 or (not table.pods and len(table.servers) > 1)


def _pods(table: RankTable) -> Iterator[Problem]:
    if table.version == "1.0":
        if table.pods:
            yield Problem(what="version 1.0 has no super_pod_list.", fix="Use version 1.2.")
        return
    known = {server.server_id for server in table.servers}
    order = [name for names in table.pods.values() for name in names]
    for name, times in Counter(order).items():
        if times > 1:
            yield Problem(what=f"server {name} is in super_pod_list {times} times.")
        if name not in known:
            fix = did_you_mean(name, known)
            yield Problem(what=f"super_pod_list names server {name}, which is missing.", fix=fix)
    outside = sorted(known - {*order})
    if table.pods and outside:
        yield Problem(what=f"no SuperPoD has server {', '.join(outside)}.")
    without = [f"{s.server_id}/{d.device_id}" for s, d in table.devices if not d.super_device_id]
    if table.pods and without:
        what = f"{_listed('device', without)} without super_device_id."
        fix = "'npu-smi info -t spod-info -i ID -c CHIP' shows it as SDID."
        yield Problem(what=what, fix=fix)
    for pod, names in table.pods.items():
        inside = [d for s, d in table.devices if s.server_id in names and d.super_device_id]
        for super_id, times in Counter(device.super_device_id for device in inside).items():
            if times > 1:
                what = f"SuperPoD {pod} has super_device_id {super_id} {times} times."
                yield Problem(what=what)
    listed = [server.server_id for server in table.servers]
    if sorted(order) == sorted(listed) and order != listed:
        what = "the servers are not in the order of their SuperPoDs."
        yield Problem(what=what, fix="Put the servers of one SuperPoD together in server_list.")


def _listed(noun: str, items: Sequence[object]) -> str:
    """``ranks 3, 4 and 5 more are`` for these items."""
    shown = ", ".join(map(str, items[:_MOST_NAMED]))
    rest = len(items) - _MOST_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return f"{noun}{'s' if len(items) > 1 else ''} {shown}{more} {'are' if items[1:] else 'is'}"
