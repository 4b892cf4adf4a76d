# SPDX-License-Identifier: Apache-2.0
"""Divides targets among machines, with about equal costs and related targets together.

Every machine computes the same division, because it depends only on the matrix and the locks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cannery.image.layers import Layer

_CHECKS = 60.0
"""Seconds for exporting an image and testing it, for each target."""

_SLACK = 1.25
"""How far a machine may exceed its even share to keep related targets together."""


@dataclass(frozen=True, kw_only=True)
class TargetCost:
    """The costs of a target's layers in seconds, by identity; ``family`` identifies relatives."""

    id: str
    costs: Mapping[str, float]
    family: tuple[str, ...]


@dataclass
class _Machine:
    ids: list[str] = field(default_factory=list)
    layers: dict[str, float] = field(default_factory=dict)

    def cost(self, items: Sequence[TargetCost] = ()) -> float:
        """The seconds to build the machine's targets and ``items``."""
        layers = dict(self.layers)
        for target_cost in items:
            layers |= target_cost.costs
        return sum(layers.values()) + _CHECKS * (len(self.ids) + len(items))

    def take(self, items: Sequence[TargetCost]) -> None:
        for target_cost in items:
            self.ids.append(target_cost.id)
            self.layers |= target_cost.costs


def target_cost(target: str, layers: Sequence[Layer]) -> TargetCost:
    """The cost of ``target``, whose family has the same CANN and torch."""
    costs = {layer.identity: layer.weight for layer in layers}
    family = [layer.identity for layer in layers if layer.name in ("toolkit", "wheels-torch")]
    return TargetCost(id=target, costs=costs, family=tuple(family))


def divide_targets(items: Sequence[TargetCost], count: int) -> list[list[str]]:
    """The ids of ``items`` for each of ``count`` machines, each in the order of ``items``."""
    machines = [_Machine() for _ in range(count)]
    even = _Machine().cost(items) / count
    limit = max([even * _SLACK, *(_Machine().cost([each]) for each in items)])
    waiting = sorted(_families(items), key=_weight)
    while waiting:
        family = waiting.pop()
        machine = min(machines, key=lambda each: each.cost(family))
        if len(family) > 1 and machine.cost(family) > limit:
            middle = len(family) // 2
            waiting = sorted([*waiting, family[:middle], family[middle:]], key=_weight)
        else:
            machine.take(family)
    order = [each.id for each in items]
    return [sorted(machine.ids, key=order.index) for machine in machines]


def fair_count(items: Sequence[TargetCost]) -> int:
    """The number of machines among which ``items`` can be divided without splitting a family."""
    if not items:
        return 0
    families = [{each.id for each in family} for family in _families(items)]
    costs = [_Machine().cost(family) for family in _families(items)]
    count = round(sum(costs) / max(costs))
    while True:
        shards = divide_targets(items, count)
        if all(any(family.issubset(shard) for shard in shards) for family in families):
            return count
        count -= 1


def _families(items: Sequence[TargetCost]) -> list[list[TargetCost]]:
    found: dict[tuple[str, ...], list[TargetCost]] = {}
    for each in items:
        found.setdefault(each.family, []).append(each)
    return [*found.values()]


def _weight(family: Sequence[TargetCost]) -> tuple[float, str]:
    return _Machine().cost(family), family[0].id
