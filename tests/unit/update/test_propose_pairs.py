# SPDX-License-Identifier: Apache-2.0
"""New targets for pairs that compat.yaml has, written beside those of a family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cannery.common.cann_version import CannVersion
from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.compat.facts import Compat
from cannery.update.propose_pairs import propose_pairs
from cannery.update.siblings import Known, Proposed
from tests.unit.matrices import edited
from tests.unit.new_targets import NEW, OLD, TEXT, facts, matrix_of, removed

TODAY = "2026-09-01"
BOTH = facts(OLD, NEW)


def lock_of(target: Target) -> dict[Path, str]:
    return {Path(target.id): target.torch_npu}


def proposals(
    text: str = TEXT,
    today: str = TODAY,
    compat: Compat = BOTH,
    lock: Callable[[Target], Mapping[Path, str]] = lock_of,
) -> list[Proposed]:
    known = Known(compat=compat, lock=lock)
    return [*propose_pairs({"matrix.yaml": text}, matrix_of(text), known, today)]


def test_a_newer_pair_stands_beside_the_most_similar_one() -> None:
    [result] = proposals()
    assert result.what == (
        f"PyTorch 2.9.0 with torch_npu {NEW} on CANN 9.1.0, as torch280-cann900 of family pairs."
    )
    assert result.targets == ("py311-torch290-cann910",)
    assert result.locks == {Path("py311-torch290-cann910"): NEW}
    after = matrix_of(result.files["matrix.yaml"]).targets["py311-torch290-cann910"]
    assert (after.torch, after.torch_npu, after.cann.version) == ("2.9.0", NEW, "9.1.0")
    assert after.extras == {"torchvision": "0.24.0"}
    assert after.summary == "PyTorch 2.9.0 on CANN 9.1.0"


def test_what_was_there_stays_as_it_was() -> None:
    [result] = proposals()
    assert removed(TEXT, result.files["matrix.yaml"]) == []


@pytest.mark.parametrize(
    ("python", "reason"),
    [
        ("py39: {base: debian-11, python: cpython-3.9.2}", "no wheel for Python 3.9"),
        ("", "no disk"),
    ],
)
def test_nothing_is_written_if_a_target_is_refused(python: str, reason: str) -> None:
    def lock(target: Target) -> dict[Path, str]:
        raise MatrixError(f"no disk for {target.id}")

    py311 = "        py311: {base: debian-12, python: cpython-3.11.2}\n"
    text = edited(py311, f"{py311}        {python}\n", TEXT) if python else TEXT
    text = text.replace("{python}-torch280-cann900", "{python}-older")
    [result] = proposals(text, lock=lock)
    assert (result.targets, result.locks, result.files) == ((), {}, {"matrix.yaml": text})
    assert reason in result.problem


@pytest.mark.parametrize(
    "rules",
    [
        "exclude: [\n      {python: py39, pair: torch280-cann900}]\n",
        "exclude:\n      - {python: py39, pair: torch280-cann900}\n",
    ],
)
def test_a_value_is_excluded_from_what_its_sibling_is(rules: str) -> None:
    py311 = "        py311: {base: debian-12, python: cpython-3.11.2}\n"
    common = "    common: {platform: linux/arm64}\n"
    text = edited(py311, f"{py311}        py39: {{base: debian-11, python: cpython-3.9.2}}\n", TEXT)
    text = edited(common, f"{common}    {rules}", text)
    [result] = proposals(text)
    assert result.targets == ("py311-torch290-cann910",)
    assert "{python: py39, pair: torch290-cann910}" in result.files["matrix.yaml"]
    assert {*matrix_of(result.files["matrix.yaml"]).targets} == {
        *matrix_of(text).targets,
        *result.targets,
    }


def test_the_newest_of_each_series_of_cann_is_proposed() -> None:
    [row] = facts(NEW).pairings
    canns = ["9.1.0", "9.1.1", "9.2.0"]
    rows = [row.model_copy(update={"cann": CannVersion.parse(cann)}) for cann in canns]
    result = proposals(
        compat=facts(OLD).model_copy(update={"pairings": (*facts(OLD).pairings, *rows)})
    )
    assert [each.what.partition(", as")[0].split()[-1] for each in result] == ["9.1.1", "9.2.0"]


@pytest.mark.parametrize(("today", "count"), [("2026-10-15", 1), ("2026-10-16", 0)])
def test_a_torch_whose_maintenance_has_ended_is_left_out(today: str, count: int) -> None:
    # Maintenance of torch_npu for torch 2.8.0 ends on 2026-10-15.
    [row] = facts(OLD).pairings
    newer = row.model_copy(update={"cann": CannVersion.parse("9.1.0"), "torch_npu": "2.8.0.post9"})
    compat = facts(OLD).model_copy(update={"pairings": (row, newer)})
    assert len(proposals(today=today, compat=compat)) == count


def test_nothing_is_proposed_for_what_targets_have() -> None:
    assert proposals(compat=facts(OLD)) == []


def test_a_matrix_that_cannot_be_edited_is_left_alone() -> None:
    block = TEXT[TEXT.index("      pair:\n") : TEXT.index("    common: {platform")]
    cann = "&cann {toolkit: 9.0.0, kernels: 9.0.0, nnal: 9.0.0, chip: 910b}"
    pair = f"{{summary: one, cann: {cann}, torch: 2.8.0, torch_npu: {OLD}}}"
    text = edited(block, f"      pair: {{torch280-cann900: {pair}}}\n", TEXT)
    [result] = proposals(text)
    assert result.files["matrix.yaml"] == text
    assert "it is not an indented mapping" in result.problem


def test_without_a_family_of_pairs_it_is_left_to_people() -> None:
    text = TEXT.replace("          torchvision: 0.23.0\n", "          deepspeed: 0.18.4\n")
    [result] = proposals(text)
    assert result.files["matrix.yaml"] == text
    assert "'build.py new' adds a single target" in result.problem
