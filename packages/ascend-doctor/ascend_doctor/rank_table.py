# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a rank table: version 1.0 and 1.2, and 2.0 of the 950."""

from __future__ import annotations

import ipaddress
import json
from typing import Any, Iterator

_NEW_ONLY = "950"
_SHOWN = 8


def rank_table_problems(text: str | None, chips: list[str]) -> Iterator[str]:
    """Everything that is wrong with the rank table ``text`` on a host with these ``chips``."""
    if text is None:
        yield "there is no such file, or it may not be read"
        return
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        yield "it is not complete JSON"
        return
    if not isinstance(table, dict):
        yield "it is no JSON object"
        return
    if table.get("status") != "completed":
        yield "its status is {!r}, not 'completed'".format(table.get("status"))
    version = str(table.get("version", "1.0"))
    if version.startswith("1.") and any(_NEW_ONLY in chip for chip in chips):
        yield f"its version is {version}, and a 950 takes version 2.0 only (HCCL says EI0014)"
    if version.startswith("2."):
        yield from _ranks(table)
    else:
        yield from _servers(table)


def _servers(table: dict[str, Any]) -> Iterator[str]:
    servers = table.get("server_list")
    if not isinstance(servers, list):
        yield "it has no server_list"
        return
    ids, bad = [], []
    for server in servers:
        devices = server.get("device") if isinstance(server, dict) else None
        if not isinstance(devices, list) or not all(isinstance(each, dict) for each in devices):
            yield "a server of it has no list of devices"
            return
        for device in devices:
            ids.append(device.get("rank_id"))
            address = device.get("device_ip")
            if address is None and len(servers) == 1:
                continue
            if not _is_address(address):
                bad.append((device.get("rank_id"), address))
    if bad:
        yield f"{_list(rank for rank, _ in bad)} no address: device_ip is {bad[0][1]!r}"
    yield from _numbers(ids)


def _ranks(table: dict[str, Any]) -> Iterator[str]:
    ranks = table.get("rank_list")
    if not isinstance(ranks, list) or not all(isinstance(each, dict) for each in ranks):
        yield "it has no rank_list"
        return
    count = table.get("rank_count")
    if count != len(ranks):
        yield f"rank_count is {count}, and the list has {len(ranks)} ranks"
    without = [each.get("rank_id") for each in ranks if not any(_addresses(each))]
    if without:
        yield f"{_list(without)} no address: no rank_addr_list has one"
    yield from _numbers([each.get("rank_id") for each in ranks])


def _addresses(rank: dict[str, Any]) -> Iterator[str]:
    levels = rank.get("level_list")
    for level in levels if isinstance(levels, list) else ():
        entries = level.get("rank_addr_list") if isinstance(level, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and str(entry.get("addr", "")).strip("-. "):
                yield str(entry["addr"])


def _numbers(ids: list[Any]) -> Iterator[str]:
    """Ranks are numbered from 0, each once."""
    numbers = [int(each) if str(each).isdigit() else -1 for each in ids]
    if sorted(numbers) != [*range(len(numbers))]:
        yield f"its ranks are not numbered from 0 to {len(numbers) - 1}, each once"


def _list(ranks: Any) -> str:
    found = [str(rank) for rank in ranks]
    more = ", …" if len(found) > _SHOWN else ""
    return "rank {}{} ha{}".format(
        ", ".join(found[:_SHOWN]), more, "s" if len(found) == 1 else "ve"
    )


def _is_address(value: Any) -> bool:
    try:
        ipaddress.ip_address(str(value))
    except ValueError:
        return False
    return True
