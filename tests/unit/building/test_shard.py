# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cannery.building.ci_jobs import TargetCost, divide_targets, target_cost
from tests.unit.image.test_layers import layers
from tests.unit.matrices import Checkout

CHECKS = 60.0


def cost(items: list[TargetCost], ids: list[str]) -> float:
    layers: dict[str, float] = {}
    for each in items:
        if each.id in ids:
            layers |= each.costs
    return sum(layers.values()) + CHECKS * len(ids)


@st.composite
def selections(draw: st.DrawFn) -> list[TargetCost]:
    """Targets that have some of a few CANNs and torches in common."""
    found = []
    for number in range(draw(st.integers(1, 30))):
        cann, torch = (draw(st.sampled_from("abcd")) for _ in range(2))
        costs = {f"cann-{cann}": 40.0, f"torch-{torch}": 20.0, f"own-{number}": 5.0}
        found.append(TargetCost(id=f"t{number}", costs=costs, family=(cann, torch)))
    return found


@given(selections(), st.integers(1, 12))
def test_every_target_is_in_one_shard(items: list[TargetCost], count: int) -> None:
    shards = divide_targets(items, count)
    assert len(shards) == count
    assert sorted(name for shard in shards for name in shard) == sorted(i.id for i in items)
    order = [each.id for each in items]
    assert all(shard == sorted(shard, key=order.index) for shard in shards)


@given(selections(), st.integers(1, 12))
def test_no_shard_has_much_more_than_its_share(items: list[TargetCost], count: int) -> None:
    shards = divide_targets(items, count)
    even = cost(items, [each.id for each in items]) / count
    largest = max(cost(items, [each.id]) for each in items)
    # Splitting a family makes what it shares twice, which is what the second term allows for.
    assert max(cost(items, shard) for shard in shards) <= 1.25 * even + 2 * largest


def test_a_family_stays_together_where_that_is_fair() -> None:
    items = [
        TargetCost(id=f"{family}{number}", costs={family: 100.0}, family=(family,))
        for number in range(3)
        for family in "ab"
    ]
    shards = divide_targets(items, 2)
    assert sorted(map(sorted, shards)) == [["a0", "a1", "a2"], ["b0", "b1", "b2"]]


def test_a_family_is_split_where_one_would_do_all_the_work() -> None:
    items = [TargetCost(id=f"a{number}", costs={"a": 10.0}, family=("a",)) for number in range(8)]
    assert [len(shard) for shard in divide_targets(items, 4)] == [2, 2, 2, 2]


def test_targets_of_the_same_cann_and_torch_are_kin(checkout: Checkout) -> None:
    full, bare = checkout.target("full"), checkout.target("bare")
    ours, others = (target_cost(t.id, [*layers(checkout, t).values()]) for t in (full, bare))
    again = target_cost("again", [*layers(checkout, full).values()])
    assert again.family == ours.family != others.family
    assert again.costs == ours.costs
    assert all(seconds > 0 for seconds in ours.costs.values())
