# SPDX-License-Identifier: Apache-2.0
"""Simulated: checks of arguments, which MindSpore names when it is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Operator = TypeVar("Operator", bound=Callable[..., object])


def check_input_type(*types: object) -> Callable[[Operator], Operator]:
    """A decorator that leaves the operator as it is."""
    return lambda operator: operator
