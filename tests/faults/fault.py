# SPDX-License-Identifier: Apache-2.0
"""What a fault is, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from random import Random

from tests.faults.site import Running, Site

Strike = Callable[[Running], None]
"""Is called during the run."""


@dataclass(kw_only=True)
class Fault:
    """A fault that has begun: what it adds to the environment, and what happens during the run.

    ``others`` are runs that were started beside the run.
    """

    environment: dict[str, str] = field(default_factory=dict)
    strike: Strike | None = None
    others: list[Running] = field(default_factory=list)
    commands: tuple[str, ...] = ()


Begin = Callable[[Site, Random], AbstractContextManager[Fault]]
