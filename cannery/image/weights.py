# SPDX-License-Identifier: Apache-2.0
"""What layers cost to build, which shards are divided by."""

from __future__ import annotations

_WEIGHTS = {
    "os": 30.0,
    "toolkit": 15.0,
    "kernels": 10.0,
    "nnal": 10.0,
    "cann-python": 10.0,
    "wheels-torch": 20.0,
    "wheels-torch_npu": 10.0,
    "wheels-cann": 15.0,
    "wheels-jieba": 12.0,
    "wheels-mindspore": 25.0,
    "wheels-application": 15.0,
    "hccl_test": 20.0,
    "guard": 1.0,
}
"""Seconds per layer, on two cores under emulation; only the proportions matter."""

_OTHER_WEIGHT = 5.0


def weight_of(layer: str) -> float:
    """The cost in seconds of the layer with this name."""
    return _WEIGHTS.get(layer, _OTHER_WEIGHT)
