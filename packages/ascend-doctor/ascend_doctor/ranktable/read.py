# SPDX-License-Identifier: Apache-2.0
"""Reads the text of a rank table. What is missing or of the wrong kind becomes a problem."""

from __future__ import annotations

import json
from typing import Any, Mapping

from ascend_doctor.problems import Problem, RankTableError

from .model import COMPLETED, Device, RankTable, Server

_MAX_NUMBER = 10**9


def parse_rank_table(text: str, name: str) -> RankTable:
    """The rank table in ``text``, the content of a file called ``name``.

    Raises:
        RankTableError: it is incomplete, or a part of it is missing or of the wrong kind; with
            every problem.
    """
    reader = _Reader(name)
    top = reader.mapping(_loads(text, name, reader), "the rank table")
    if top is not None and not reader.other_form(top):
        servers = [
            reader.server(server, f"server_list[{number}]")
            for number, server in enumerate(reader.items(top, "server_list", ""))
        ]
        pods = reader.pods(top)
        count = top.get("server_count")
        if count is not None and str(count) != str(len(servers)):
            what = f"server_count is {count!r}, but server_list has {len(servers)}."
            reader.wrong(what, "Is a part of the file missing?")
        version = reader.word(top, "version", "")
        status = reader.word(top, "status", "", default=COMPLETED)
        if not reader.problems:
            found = tuple(server for server in servers if server)
            return RankTable(version=version, servers=found, pods=pods, status=status)
    raise RankTableError(reader.problems)


def _loads(text: str, name: str, reader: _Reader) -> object:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        for key in {key for key in keys if keys.count(key) > 1}:
            reader.wrong(f"the key {key!r} is there twice in one object.")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        where = f"{name}:{error.lineno}:{error.colno}"
        # A text that is cut within a string is reported where the string begins.
        ended = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        what = "the file ends too early." if ended else f"this is not JSON: {error.msg}."
        fix = "A part of it is missing: write it again." if ended else "See docs/rank-tables.md."
        raise RankTableError(Problem(what=what, fix=fix, where=where)) from error
    except (RecursionError, ValueError) as error:
        what = "this is not a rank table: it is nested too deeply or has a huge number."
        raise RankTableError(Problem(what=what, where=name)) from error


class _Reader:
    """Collects problems; every method returns something usable after one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[Problem] = []

    def wrong(self, what: str, fix: str = "") -> None:
        self.problems.append(Problem(what=what, fix=fix, where=self.name))

    def other_form(self, top: Mapping[str, Any]) -> bool:
        """Whether it is not written yet, or in the form that was before version 1.0."""
        status = top.get("status")
        if isinstance(top.get("group_list"), list):
            fix = "Write it anew with 'ascend-doctor ranktable generate', or update its operator."
            self.wrong("this is the older form of a rank table, with group_list.", fix)
        elif "server_list" not in top and isinstance(status, str) and status != COMPLETED:
            fix = "Wait until the operator has written the table; if it does not, read its log."
            self.wrong(f"it is not completed yet: its status is {status[:40]!r}.", fix)
        return bool(self.problems)

    def mapping(self, value: object, place: str) -> Mapping[str, Any] | None:
        if isinstance(value, dict):
            return value
        self.wrong(f"{place} is not an object.")
        return None

    def items(self, section: Mapping[str, Any], key: str, place: str) -> list[Any]:
        value = section.get(key)
        if isinstance(value, list) and value:
            return value
        self.wrong(f"{place or 'the rank table'} has no {key}, or it is empty.")
        return []

    def word(
        self, section: Mapping[str, Any], key: str, place: str, default: str | None = None
    ) -> str:
        value = section.get(key, default)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value):
            return str(value)
        self.wrong(f"{place or 'the rank table'} has no {key}.")
        return ""

    def number(self, section: Mapping[str, Any], key: str, place: str) -> int:
        word = self.word(section, key, place)
        if word.isascii() and word.isdigit() and len(word) < 10 and int(word) < _MAX_NUMBER:
            return int(word)
        if word:
            self.wrong(f"{place}: {key} is {word[:40]!r}, which is not a number from 0.")
        return 0

    def server(self, value: object, place: str) -> Server | None:
        section = self.mapping(value, place)
        if section is None:
            return None
        devices = []
        for number, each in enumerate(self.items(section, "device", place)):
            where = f"{place}.device[{number}]"
            device = self.mapping(each, where)
            if device is not None:
                devices.append(self.device(device, where))
        more = {k: v for k, v in section.items() if k not in ("server_id", "device")}
        server_id = self.word(section, "server_id", place)
        return Server(server_id=server_id, devices=tuple(devices), more=more)

    def device(self, section: Mapping[str, Any], place: str) -> Device:
        known = ("device_id", "rank_id", "device_ip", "super_device_id")
        return Device(
            device_id=self.number(section, "device_id", place),
            rank_id=self.number(section, "rank_id", place),
            device_ip=str(section.get("device_ip") or ""),
            super_device_id=str(section.get("super_device_id", "")),
            more={k: v for k, v in section.items() if k not in known},
        )

    def pods(self, top: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        if top.get("super_pod_list") is None:
            return found
        for number, each in enumerate(self.items(top, "super_pod_list", "")):
            place = f"super_pod_list[{number}]"
            section = self.mapping(each, place)
            if section is None:
                continue
            name = self.word(section, "super_pod_id", place)
            if name in found:
                self.wrong(f"{place}: super_pod_id {name!r} is there twice.")
            listed = [
                self.mapping(server, f"{place}.server_list[{index}]") or {}
                for index, server in enumerate(self.items(section, "server_list", place))
            ]
            found[name] = tuple(self.word(server, "server_id", place) for server in listed)
        return found
