# SPDX-License-Identifier: Apache-2.0
"""The part of apex.amp that changes nothing: O0 (pure fp32) and enabled=False."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

REFUSAL = (
    "this apex is a stand-in made by cannery's simulator and has no mixed precision: {what} needs "
    "the real Ascend apex wheel (build it with scripts/build.sh of the Ascend apex repository); "
    "here, use opt_level='O0' or enabled=False, or torch.npu.amp"
)


def initialize(
    models: Any, optimizers: Any = None, enabled: bool = True, opt_level: str = "O1", **options: Any
) -> Any:
    if enabled and opt_level != "O0":
        raise NotImplementedError(REFUSAL.format(what=f"opt_level={opt_level!r}"))
    return models if optimizers is None else (models, optimizers)


@contextmanager
def scale_loss(loss: Any, optimizers: Any, loss_id: int = 0, **options: Any) -> Iterator[Any]:
    """At O0 the loss scale is 1, and initialize() let nothing else pass."""
    yield loss
