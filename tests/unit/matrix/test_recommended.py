# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.publish.policy import load as load_policy
from tests.policy.conftest import PROJECT, TARGETS
from tests.unit.matrices import CHECKOUT, MATRIX, edited, load

RECOMMENDED = {each.recommended: each for each in TARGETS.values() if each.recommended}


def test_three_targets_are_recommended_and_come_first() -> None:
    assert [*RECOMMENDED] == ["training", "serving", "MindSpore"]
    assert [*TARGETS.values()][:3] == [*RECOMMENDED.values()]


@pytest.mark.parametrize("target", RECOMMENDED.values(), ids=RECOMMENDED)
def test_anyone_can_have_a_recommended_target(target: Target) -> None:
    assert not target.unverified
    assert not target.cann.interim
    assert all(file.is_downloadable for file in target.artifacts.values())


def test_the_readme_names_the_recommended_targets() -> None:
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    for use, target in RECOMMENDED.items():
        assert f"| {use} | `{target.id}` |" in text
        assert target.cann.version in text


def test_latest_is_the_recommended_target_for_training() -> None:
    aliases = load_policy(PROJECT.publish_file, PROJECT.matrix()).aliases
    assert aliases["latest"] == RECOMMENDED["training"].id


def test_a_use_without_a_target_and_a_matrix_without_uses(tmp_path: Path) -> None:
    plain = load(tmp_path, MATRIX)
    with pytest.raises(
        MatrixError,
        match=r"matrix.yaml:\d+:\d+: .*invalid condition 'chip:910b'",
    ):
        load(tmp_path, MATRIX + "recommended: {all: ['chip:910b']}\n")
    ruled = load(tmp_path, MATRIX + "recommended: {nothing: [chip=950], all: [chip=910b]}\n")
    assert {each.recommended for each in plain.targets.values()} == {""}
    # None of its files is on a server, so nobody is sent to a target.
    assert {each.recommended for each in ruled.targets.values()} == {""}
    assert [*ruled.targets] == [*plain.targets]


def test_beside_a_target_with_a_mistake_nothing_is_recommended(tmp_path: Path) -> None:
    text = edited("    version: 3.9.2\n", "", MATRIX)
    with pytest.raises(MatrixError, match="has no 'version'"):
        load(tmp_path, text + "recommended: {all: [chip=910b]}\n")
