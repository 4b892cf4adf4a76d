# SPDX-License-Identifier: Apache-2.0
"""A project's own settings of a chip: how its clusters name the cards."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.deploy import formats
from cannery.deploy.workload import Workload
from cannery.matrix.schema import parse_matrix
from tests.unit.matrices import MATRIX, refused

OWN = "chips: {910b: {resource: npu.example/910b, hosts: {4: small, 8: none}}}\n"


def job(text: str, cards: int) -> str:
    """The Job of Volcano for the target in ``text``."""
    target = parse_matrix(text, "matrix.yaml").targets["full"]
    workload = Workload(image="r.example/i:t", target=target, cards=tuple(range(cards)))
    workload.check("volcano")
    return formats.text("volcano", workload)


def test_a_clusters_own_names_are_taken_and_others_stay() -> None:
    usual, own = job(MATRIX, 4), job(MATRIX + OWN, 4)
    assert "huawei.com/Ascend910" in usual
    assert "npu.example/910b: 4" in own
    assert "huawei.com/Ascend910" not in own
    assert "accelerator-type: small" in own
    assert "ascend-910b" in own
    assert "accelerator-type" not in job(MATRIX + OWN, 8)


def test_a_host_has_the_cards_that_the_project_says() -> None:
    with pytest.raises(Exception, match="a host has 1 to 8 cards of 910b, not 16"):
        job(MATRIX + OWN, 16)


def test_explain_names_the_change_for_targets_with_the_chip() -> None:
    matrix = parse_matrix(MATRIX + OWN, "matrix.yaml")
    line = MATRIX.count("\n") + 1
    [said] = matrix.changes_for(matrix.targets["full"])
    assert said.startswith(f"chips.910b of matrix.yaml:{line}:")
    other = parse_matrix(MATRIX + OWN.replace("910b: {", "a3: {"), "matrix.yaml")
    assert other.changes_for(other.targets["full"]) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("910b: {", "910c: {", "chips"),
        ("npu.example/910b", "npu", "'npu' is no resource of Kubernetes."),
        ("resource:", "resorce:", "Did you mean 'resource'?"),
        ("small", "-x", "'-x' cannot be the label of a node."),
        ("{4:", "{0:", "chips.910b.hosts"),
        ("{4:", "{four:", "chips.910b.hosts"),
    ],
)
def test_mistakes_have_their_place(tmp_path: Path, before: str, after: str, said: str) -> None:
    [problem] = refused(tmp_path, MATRIX + OWN.replace(before, after))
    assert said in problem
    assert problem.startswith(f"matrix.yaml:{MATRIX.count(chr(10)) + 1}:")
