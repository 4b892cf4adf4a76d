# SPDX-License-Identifier: Apache-2.0
"""Divides the wheels of a lock among the layers of an image."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cannery.common.model import TRITON_ASCEND, Target
from cannery.lock.lock_file import Lock, LockedWheel
from cannery.lock.requirements import requirement_groups

_OWN_LAYER: Mapping[str, frozenset[str]] = {
    "torch": frozenset({"torch"}),
    "torch_npu": frozenset({"torch-npu"}),
    "deepspeed": frozenset({"deepspeed"}),
    "ray": frozenset({"ray"}),
    TRITON_ASCEND: frozenset({"triton-ascend"}),
    "application": frozenset(
        {
            *("fonttools", "jieba", "matplotlib", "mindspore", "opencv-python-headless", "pandas"),
            *("pillow", "pyarrow", "transformers"),
        }
    ),
}
"""Group to the wheels that have their own layer: the components themselves, and wheels of 20 MB or
more that several applications need. Targets with different wheels still share these layers."""


@dataclass(frozen=True, kw_only=True)
class WheelGroup:
    """The wheels of one layer: ``name`` is the layer's, ``group`` the requirement group's."""

    name: str
    group: str
    wheels: tuple[LockedWheel, ...]


def wheel_groups(target: Target, lock: Lock) -> tuple[WheelGroup, ...]:
    """The wheels of each layer, in the order of the image.

    A wheel that several groups need is in the first of them.
    """
    children: dict[str, list[str]] = defaultdict(list)
    roots: dict[str, list[str]] = defaultdict(list)
    for wheel in lock.wheels:
        for parent in wheel.parents:
            children[parent].append(wheel.name)
        for group in wheel.groups:
            roots[group].append(wheel.name)
    left = {**lock.by_name}
    divided: list[WheelGroup] = []
    for group in requirement_groups(target):
        taken: dict[str, LockedWheel] = {}
        waiting = [*roots.get(group, ())]
        while waiting:
            name = waiting.pop()
            # What an earlier group has taken, it has taken with all that this needs.
            if name in left:
                taken[name] = left.pop(name)
                waiting += children.get(name, ())
        divided += _divided(group, [taken[name] for name in sorted(taken)])
    return tuple(divided)


def _divided(group: str, wheels: Sequence[LockedWheel]) -> Sequence[WheelGroup]:
    """The layers of one group. The last one has the wheels that change with every lock.

    That of triton-ascend is after its requirements: up to 3.2.1 it replaces files of triton.
    """
    apart = _OWN_LAYER.get(group, frozenset())
    single = [wheel for wheel in wheels if wheel.name in apart]
    rest = tuple(wheel for wheel in wheels if wheel.name not in apart)
    names = {wheel.name: wheel.name.replace("-", "_") for wheel in single}
    alone = [WheelGroup(name=names[wheel.name], group=group, wheels=(wheel,)) for wheel in single]
    if not rest:
        return alone
    # torch itself may be a file of the vendor's, with a layer of its own.
    name = f"{group}-deps" if group in (*names.values(), "torch") else group
    others = WheelGroup(name=name, group=group, wheels=rest)
    return [others, *alone] if group == TRITON_ASCEND else [*alone, others]
