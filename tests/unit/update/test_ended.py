# SPDX-License-Identifier: Apache-2.0
"""Targets that are proposed for removal."""

from __future__ import annotations

from cannery.update.updates import ended_targets
from tests.unit.new_targets import OLD, facts, matrix_of

PY39, PY311 = "py39-torch280-cann900", "py311-torch280-cann900"
NPU = "Maintenance of torch_npu for torch 2.8.0: until 2026-10-15."
DEBIAN = "Maintenance of Debian bullseye: until 2026-08-31."


def ended(today: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    result = ended_targets(matrix_of(), facts(OLD), today)
    return {each.parts: each.targets for each in result}


def test_a_target_is_maintained_until_the_last_day() -> None:
    assert ended("2026-08-31") == {}
    assert ended("2026-09-01") == {(DEBIAN,): (PY39,)}


def test_targets_of_the_same_parts_are_together_and_most_parts_come_first() -> None:
    assert [*ended("2026-10-16").items()] == [
        ((NPU, DEBIAN), (PY39,)),
        ((NPU,), (PY311, "py311-serve100")),
    ]


def test_a_distribution_maintains_its_own_interpreter() -> None:
    # Python 3.9 ended on 2025-10-31; that of Debian 11 did not end with it.
    assert not [part for parts in ended("2026-09-01") for part in parts if "Python" in part]
