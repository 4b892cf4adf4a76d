# SPDX-License-Identifier: Apache-2.0
"""Reads what a trainer prints."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

VERL_LOSS = re.compile(r"train/loss:([0-9.naif]+)")


def json_lines(printed: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that have a line of ``printed`` of their own."""
    for line in printed.splitlines():
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except ValueError:
                continue


def logged_losses(printed: str) -> list[float]:
    """The losses of the steps, from the log of a trainer that is built on transformers' own."""
    return [entry["loss"] for entry in json_lines(printed) if "loss" in entry]


def verl_losses(printed: str) -> list[float]:
    """The losses of the steps, from verl's log on the console."""
    return [float(loss) for loss in VERL_LOSS.findall(printed)]


def assert_learns(losses: list[float]) -> None:
    """The losses are finite, and the last is well below the first."""
    assert len(losses) >= 4, losses
    assert all(math.isfinite(loss) for loss in losses), losses
    assert losses[-1] < 0.9 * losses[0], losses
