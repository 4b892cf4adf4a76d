# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed."""

from __future__ import annotations

import math
from typing import Any

import pytest

Facts = dict[str, Any]


def test_version(facts: Facts, locked: Any) -> None:
    """DeepSpeed is the target's version."""
    assert facts["distributions"]["deepspeed"]["version"] in locked("deepspeed")


@pytest.mark.any_image
@pytest.mark.device
def test_accelerator(on_device: Any) -> None:
    """DeepSpeed finds the NPU by itself, and talks over HCCL."""
    answer = on_device("train")
    assert (answer["accelerator"], answer["backend"]) == ("npu", "hccl")


@pytest.mark.any_image
@pytest.mark.device
def test_trains(on_device: Any) -> None:
    """Three ZeRO-2 steps lower the loss. A 310P has no broadcast by HCCL, with which they begin."""
    answer = on_device("train")
    if answer["is_310p"]:
        assert "HcclBroadcast" in answer["error"], answer
        return
    assert not answer["error"], answer
    assert answer["device"] == "npu:0"
    losses = answer["losses"]
    assert len(losses) == 3 and all(math.isfinite(loss) for loss in losses)
    assert losses[0] > losses[1] > losses[2], losses
