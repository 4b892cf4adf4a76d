# SPDX-License-Identifier: Apache-2.0
"""The names of the components that layers are made from."""

from __future__ import annotations

from collections.abc import Sequence

from cannery.common.errors import UsageError, did_you_mean
from cannery.common.model import Target

EVERY_LAYER = "build_base"
"""The component of every layer: the base image of the ``build`` stage."""

_ALIASES = {"cann": ("toolkit", "kernels", "nnal")}
"""A name for several components that always change together."""


def components_of(target: Target) -> set[str]:
    """The names of the components of ``target``."""
    own = [] if target.application else ["requirements"]
    return {*target.components, "pip", "py-spy", *(own if target.requirements else [])}


def components_named(name: str, targets: Sequence[Target]) -> frozenset[str]:
    """The components with the name ``name``, which may be an alias for several.

    Raises:
        UsageError: none of ``targets`` has it.
    """
    known = {each for target in targets for each in components_of(target)}
    known |= {EVERY_LAYER, *_ALIASES}
    if name not in known:
        hint = did_you_mean(name, known)
        raise UsageError(f"no selected target has a component {name!r}. {hint}")
    return frozenset(_ALIASES.get(name, (name,)))
