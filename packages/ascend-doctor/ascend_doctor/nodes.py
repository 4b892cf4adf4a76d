# SPDX-License-Identifier: Apache-2.0
"""Compares nodes by the reports that ``--json`` wrote on each of them."""

from __future__ import annotations

import json
from typing import Any, Iterator

from .table import Found, found

_MOST = 1 << 24
_APART = 60
_OWN = ("HCCL_IF_IP", "HCCL_SOCKET_IFNAME", "HCCL_LOGIC_SUPERPOD_ID")
"""Variables of which each node has its own value."""


class NodeError(Exception):
    """A report cannot be used; the message names the file."""


def read_node(path: str) -> tuple[str, dict[str, Any]]:
    """The name and the description of the node whose report is the file ``path``."""
    try:
        with open(path, "rb") as file:
            document = json.loads(file.read(_MOST).decode("utf-8"))
        node = document["host"]
        name = str(node["name"] or path)
        checked = {
            **{key: str(node[key]) for key in ("driver", "firmware", "cann")},
            "cards": [int(card) for card in node["cards"]],
            "chips": [str(chip) for chip in node["chips"]],
            "addresses": {str(k): str(v) for k, v in node["addresses"].items()},
            "variables": {str(k): str(v) for k, v in node["variables"].items()},
            "time": float(node["time"]),
        }
    except OSError as error:
        raise NodeError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        fix = "Write one on each node with 'doctor --json > NODE.json'."
        raise NodeError(f"{path} is not a report of the doctor. {fix}") from error
    return name, checked


def compare_nodes(nodes: list[tuple[str, dict[str, Any]]]) -> Iterator[Found]:
    """In what the nodes differ and should not."""
    for key in ("driver", "firmware", "cann"):
        values = {name: node[key] for name, node in nodes if node[key]}
        if len(set(values.values())) > 1:
            yield found("nodes-" + key, values=_grouped(values))
    cards = {name: _cards(node) for name, node in nodes}
    if len(set(cards.values())) > 1:
        yield found("nodes-cards", values=_grouped(cards))
    variables = sorted({variable for _, node in nodes for variable in node["variables"]})
    for variable in variables:
        values = {name: node["variables"].get(variable, "not set") for name, node in nodes}
        if variable not in _OWN and len(set(values.values())) > 1:
            yield found("nodes-variable", variable=variable, values=_grouped(values))
    times = [node["time"] for _, node in nodes]
    if times and max(times) - min(times) > _APART:
        yield found("nodes-time", seconds=round(max(times) - min(times)))
    yield from _addresses(nodes)


def _addresses(nodes: list[tuple[str, dict[str, Any]]]) -> Iterator[Found]:
    owners: dict[str, list[str]] = {}
    for name, node in nodes:
        for address in sorted(set(node["addresses"].values())):
            owners.setdefault(address, []).append(name)
    for address, names in owners.items():
        if len(names) > 1:
            yield found("nodes-address", address=address, values=", ".join(names))


def _cards(node: dict[str, Any]) -> str:
    kinds = "/".join(sorted(set(node["chips"])))
    return f"{len(node['cards'])} cards {kinds}".strip()


def _grouped(values: dict[str, str]) -> str:
    """``value (nodes)`` for each value."""
    groups: dict[str, list[str]] = {}
    for name, value in values.items():
        groups.setdefault(value, []).append(name)
    return "; ".join("{} ({})".format(value, ", ".join(names)) for value, names in groups.items())
