# SPDX-License-Identifier: Apache-2.0
"""torchvision."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

Facts = dict[str, Any]

BOXES = """
import torch, torchvision
boxes = torch.tensor([[0., 0., 2., 2.], [0., 0., 2., 1.9], [5., 5., 6., 6.]])
kept = torchvision.ops.nms(boxes, torch.tensor([.9, .8, .7]), .5)
print('kept', *kept.tolist())
"""


def test_version(facts: Facts, locked: Any) -> None:
    """torchvision is the target's version."""
    found = facts["distributions"]["torchvision"]["version"]
    assert found in locked("torchvision")


def test_operators(host: Host, devlib: str) -> None:
    """An operator of its own library runs, so it fits this torch."""
    result = host.run(f"{devlib} python3 -c %s", BOXES)
    assert result.rc == 0, result.stderr
    assert "kept 0 2" in result.stdout
