# SPDX-License-Identifier: Apache-2.0
"""A rank table as data, and its canonical text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Mapping

VERSIONS = ("1.0", "1.2")
"""1.0 is for servers, 1.2 for SuperPoDs of servers."""

COMPLETED = "completed"


@dataclass(frozen=True)
class Device:
    """A card, or a die of one. ``more`` has the keys that no check needs, with their values."""

    device_id: int
    rank_id: int
    device_ip: str = ""
    super_device_id: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The device as JSON has it; empty values are left out."""
        found: dict[str, Any] = {"device_id": str(self.device_id)}
        if self.super_device_id:
            found["super_device_id"] = self.super_device_id
        if self.device_ip:
            found["device_ip"] = self.device_ip
        return {**found, **self.more, "rank_id": str(self.rank_id)}


@dataclass(frozen=True)
class Server:
    """A server. ``more`` has the keys that no check needs, with their values."""

    server_id: str
    devices: tuple[Device, ...]
    more: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The server as JSON has it."""
        devices = [device.document() for device in self.devices]
        before = {key: value for key, value in self.more.items() if key == "host_ip"}
        after = {key: value for key, value in self.more.items() if key != "host_ip"}
        return {"server_id": self.server_id, **before, "device": devices, **after}


@dataclass(frozen=True)
class RankTable:
    """A rank table; ``pods`` maps the id of a SuperPoD to the ids of its servers."""

    version: str
    servers: tuple[Server, ...]
    pods: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    status: str = COMPLETED

    @property
    def devices(self) -> list[tuple[Server, Device]]:
        """Every device with its server."""
        return [(server, device) for server in self.servers for device in server.devices]

    def text(self) -> str:
        """The canonical text: four spaces, every number as text, and the usual order of keys."""
        count = {"server_count": str(len(self.servers))}
        servers = {"server_list": [server.document() for server in self.servers]}
        document: dict[str, Any] = {"version": self.version, **count, **servers}
        if self.pods:
            document["super_pod_list"] = [
                {"super_pod_id": pod, "server_list": [{"server_id": name} for name in names]}
                for pod, names in self.pods.items()
            ]
        document["status"] = self.status
        return json.dumps(document, indent=4, ensure_ascii=True) + "\n"

    def shown(self) -> str:
        """The table for people: a line for each rank, in the order of ranks."""
        head = ("rank", "server", "card", "address")
        ranks = sorted(self.devices, key=lambda each: each[1].rank_id)
        rows = [
            (str(device.rank_id), server.server_id, str(device.device_id), device.device_ip or "-")
            for server, device in ranks
        ]
        widths = [max(len(row[n]) for row in [head, *rows]) for n in range(len(head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            for row in [head, *rows]
        ]
        count = f"version {self.version}, {len(self.servers)} servers, {len(rows)} ranks"
        return "\n".join([count, *lines, ""])
