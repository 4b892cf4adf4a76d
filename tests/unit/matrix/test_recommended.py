# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.compat.combination import has_ended, whole_source
from cannery.publish.policy import load as load_policy
from tests.policy.conftest import PROJECT, TARGETS
from tests.unit.compat_targets import COMPAT
from tests.unit.matrices import CHECKOUT, MATRIX, edited, load

RECOMMENDED = {(each.recommended, each.chip): each for each in TARGETS.values() if each.recommended}
TRAINING = RECOMMENDED["training", "910b"]
SERVING = RECOMMENDED["serving", "910b"]


def test_each_chip_has_a_recommended_target_and_the_usual_chip_comes_first() -> None:
    uses = [("training", "910b"), ("serving", "910b"), ("MindSpore", "910b")]
    assert [*RECOMMENDED][:3] == uses
    assert {chip for use, chip in RECOMMENDED if use == "training"} >= {"a3", "310p", "950"}
    assert [*TARGETS.values()][: len(RECOMMENDED)] == [*RECOMMENDED.values()]


@pytest.mark.parametrize("target", RECOMMENDED.values(), ids=map(" ".join, RECOMMENDED))
def test_anyone_can_have_a_recommended_target_and_one_source_has_all_of_it(target: Target) -> None:
    assert not target.unverified
    assert not target.cann.interim
    assert all(file.is_downloadable for file in target.artifacts.values())
    assert whole_source(target, COMPAT)
    assert not has_ended(target, COMPAT)


@pytest.mark.parametrize(
    "changes",
    [
        {"deepspeed": "0.18.4"},
        {"torch_npu": "2.10.0.post2"},
        {"extras": {"triton_ascend": "3.2.1"}},
        {"extras": {"msprobe": "26.2.0"}},
        {"application": TARGETS["py311-torch2100-cann910-verl091-910b"].application},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_only_pairs_have_is_not_whole(changes: dict[str, object]) -> None:
    target = TARGETS["py311-torch2100-cann910"]
    assert whole_source(target, COMPAT)
    assert whole_source(replace(target, **changes), COMPAT) is None  # type: ignore[arg-type]


def test_the_source_names_the_chip_the_release_and_the_triton() -> None:
    row = whole_source(SERVING, COMPAT)
    assert row
    assert "app: vllm-ascend v0.23.0" in row.says
    other = TARGETS["py311-torch290-cann900-vllm0180-910b"]
    assert whole_source(other, COMPAT)
    assert whole_source(replace(other, extras={"triton_ascend": "3.2.0"}), COMPAT) is None
    assert whole_source(replace(other, chip="950"), COMPAT) is None


def test_a_base_a_torch_npu_and_an_archive_that_ended_are_not_recommended() -> None:
    ended = TARGETS["py39-torch251-cann81rc1-vllm073"]
    assert has_ended(ended, COMPAT)
    assert has_ended(replace(ended, base=TRAINING.base), COMPAT)  # torch_npu for 2.5.1
    assert has_ended(replace(TRAINING, base=ended.base), COMPAT)
    archive = TARGETS["py310-torch271-cann910-mindspeed2610"].python
    assert has_ended(replace(TRAINING, python=archive), COMPAT)
    assert not has_ended(TRAINING, COMPAT)


def test_the_readme_names_the_recommended_targets() -> None:
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    for (use, chip), target in RECOMMENDED.items():
        assert f"| {use} | {chip.upper()} | `{target.id}` |" in text
        assert target.cann.version in text


def test_latest_is_the_recommended_target_for_training() -> None:
    aliases = load_policy(PROJECT.publish_file, PROJECT.matrix()).aliases
    assert aliases["latest"] == TRAINING.id


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
