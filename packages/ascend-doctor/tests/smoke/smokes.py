# SPDX-License-Identifier: Apache-2.0
"""What the smoke test prints on hosts in good order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ascend_doctor.smoke.judge import MARK, Item, device_in, judge_items
from ascend_doctor.smoke.model import Check, Document

Items = list[dict[str, Any]]

_DEVICE = {"driver": "25.5.0", "torch": "2.9.0", "torch_npu": "2.9.0.post2", "python": "3.11.2"}
_TRAINING = {"first": 0.7, "last": 0.1, "first_on_cpu": 0.7001, "steps": 40}


def good_items(name: str = "Ascend910B3", *, cards: int = 8, simulated: bool = False) -> Items:
    """Every result of a host with 8 cards, of which ``cards`` were used."""
    found: Items = [{"item": "device", "name": name, "count": 8, "simulated": simulated, **_DEVICE}]
    for kind in ("float32", "float16"):
        found.append({"item": "matmul", "type": kind, "error": 1e-4, "limit": 1e-2})
    found += [{"item": "memory", "right": True}, {"item": "training", **_TRAINING}]
    if cards > 1:
        ranks = range(cards)
        found += [{"item": "all-reduce", "rank": n, "cards": cards, "right": True} for n in ranks]
    if not simulated:
        found.append({"item": "matmul-speed", "type": "float16", "tflops": 300.0})
        found.append({"item": "memory-speed", "gb_s": 1200.0})
        if cards > 1:
            found.append({"item": "all-reduce-speed", "cards": cards, "gb_s": 80.0})
    return [*found, {"item": "end", "cards": cards}]


def printed(items: Items) -> str:
    """What a container prints, with lines of others between those of ``items``."""
    return "".join(f"a warning of torch_npu\n{MARK}{json.dumps(each)}\n" for each in items)


def checks_of(items: Sequence[Item]) -> dict[str, Check]:
    """The checks by their names."""
    return {each.name: each for each in judge_items(items, device_in(items, simulated=False))}


def document_of(items: Items, host: str = "node1") -> Document:
    """The document of a host."""
    device = device_in(items, simulated=False)
    return Document(
        host=host,
        hardware="aarch64, 8 x 910B3",
        where="mine:1",
        device=device,
        checks=judge_items(items, device),
    )
