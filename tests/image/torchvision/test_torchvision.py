# SPDX-License-Identifier: Apache-2.0
"""torchvision."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.backend.base import CommandResult

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


@pytest.mark.with_torch(program=BOXES)
def test_operators(ran: CommandResult) -> None:
    """An operator of its own library runs, so it fits this torch."""
    assert ran.rc == 0, ran.stderr
    assert "kept 0 2" in ran.stdout
