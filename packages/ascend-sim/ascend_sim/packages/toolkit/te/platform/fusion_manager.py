# SPDX-License-Identifier: Apache-2.0
"""Simulated: operators can be registered, as MindSpore does when it is imported, and not be fused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Operator = TypeVar("Operator", bound=Callable[..., object])


class FusionManager:
    """Takes operators and keeps none."""

    def register(self, name: str) -> Callable[[Operator], Operator]:
        """A decorator that leaves the operator as it is."""
        return lambda operator: operator


fusion_manager = FusionManager()
