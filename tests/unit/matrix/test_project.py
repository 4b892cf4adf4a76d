# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from cannery.common import errors
from cannery.common.errors import CanneryError, UsageError, did_you_mean
from cannery.matrix.project import select
from tests.unit.matrices import Checkout


@pytest.mark.parametrize(
    ("patterns", "ids"),
    [
        (["full"], ["full"]),
        (["*"], ["full", "bare"]),
        (["b*", "f???"], ["full", "bare"]),
        (["bare", "bare", "ba*"], ["bare"]),
        (["[bf]*"], ["full", "bare"]),
    ],
)
def test_targets_are_chosen_in_the_order_of_the_matrix(
    checkout: Checkout, patterns: list[str], ids: list[str]
) -> None:
    assert [target.id for target in select(checkout.matrix, patterns)] == ids


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (["ful"], ["there is no target 'ful'. Did you mean 'full'?"]),
        (["FULL"], ["there is no target 'FULL'. Upper and lower case differ. Did you mean"]),
        (["full", "x*", "bear"], ["there is no target 'x*'.", "there is no target 'bear'."]),
        ([""], ["there is no target ''."]),
    ],
)
def test_every_unknown_target_is_named(
    checkout: Checkout, patterns: list[str], said: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        select(checkout.matrix, patterns)
    assert len(caught.value.problems) == len(said)
    for problem, text in zip(caught.value.problems, said, strict=True):
        assert str(problem).startswith(text)


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("toolkti", ["toolkit", "kernels"], "Did you mean 'toolkit'?"),
        ("x", ["b", "a"], "Known: a, b."),
        ("x", ["a" * 99, "b" * 99, "c" * 99], f"Known: {'a' * 99}, {'b' * 99} and 1 more."),
        ("x", [], ""),
    ],
)
def test_suggestions_for_a_name(name: str, known: list[str], said: str) -> None:
    assert did_you_mean(name, known) == said


def test_each_kind_of_error_has_a_code_of_its_own() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    codes = [kind.exit_code for kind in kinds if issubclass(kind, CanneryError)]
    assert len(codes) == len({*codes}) > 10
