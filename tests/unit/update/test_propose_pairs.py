# SPDX-License-Identifier: Apache-2.0
"""New targets for pairs that compat.yaml has, written beside those of a family."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.common.cann_version import CannVersion
from cannery.update.propose_pairs import Proposed, propose_pairs
from cannery.update.siblings import Known
from tests.unit.matrices import edited
from tests.unit.new_targets import NEW, OLD, TEXT, answers, facts, matrix_of, removed

TODAY = "2026-09-01"


def proposals(text: str = TEXT, today: str = TODAY, **changes: object) -> list[Proposed]:
    known = {"compat": facts(OLD, NEW), "answers": answers("torch_npu", [OLD, NEW]), **changes}
    return [*propose_pairs({"matrix.yaml": text}, matrix_of(text), Known(**known), today)]  # type: ignore[arg-type]


def test_a_newer_pair_stands_beside_the_most_similar_one() -> None:
    [found] = proposals()
    assert found.what == (
        f"PyTorch 2.9.0 with torch_npu {NEW} on CANN 9.1.0, as torch280-cann900 of family pairs."
    )
    assert found.addition.targets == ("py311-torch290-cann910",)
    after = matrix_of(found.addition.files["matrix.yaml"]).targets["py311-torch290-cann910"]
    assert (after.torch, after.torch_npu, after.cann.version) == ("2.9.0", NEW, "9.1.0")
    assert after.extras == {"torchvision": "0.24.0"}
    assert after.summary == "PyTorch 2.9.0 on CANN 9.1.0"


def test_what_was_there_stays_as_it_was() -> None:
    [found] = proposals()
    assert removed(TEXT, found.addition.files["matrix.yaml"]) == []


def test_a_combination_that_cannot_work_is_excluded() -> None:
    [found] = proposals()
    [(name, why)] = found.addition.refused.items()
    assert name == "py39-torch290-cann910"
    assert "no wheel for Python 3.9" in why
    assert (
        "    exclude: [{python: py39, pair: torch290-cann910}]\n"
        in found.addition.files["matrix.yaml"]
    )


@pytest.mark.parametrize(
    "given",
    [
        "    exclude: [\n      {python: py39, pair: torch280-cann900}]\n",
        "    exclude:\n      - {python: py39, pair: torch280-cann900}\n",
    ],
)
def test_it_joins_what_is_excluded_already(given: str) -> None:
    common = "    common: {platform: linux/arm64}\n"
    text = edited(common, common + given, TEXT)
    [found] = proposals(text)
    assert {*matrix_of(found.addition.files["matrix.yaml"]).targets} == {
        *matrix_of(text).targets,
        "py311-torch290-cann910",
    }


def test_what_the_index_lacks_is_not_written() -> None:
    [found] = proposals(answers=answers("torch_npu", [OLD]))
    assert (found.addition.targets, found.addition.files["matrix.yaml"]) == ((), TEXT)
    assert (
        "the package index has no torch_npu 2.9.0.post6 for Python 3.11 on aarch64."
        in (found.addition.refused["py311-torch290-cann910"])
    )


def test_what_cannot_be_had_otherwise_is_not_written() -> None:
    [found] = proposals(refusal=lambda target: f"no wheels of {target.id}")
    assert found.addition.files["matrix.yaml"] == TEXT
    assert found.addition.refused["py311-torch290-cann910"].startswith("no wheels of")


def test_the_newest_of_each_series_of_cann_is_proposed() -> None:
    [row] = facts(NEW).pairings
    canns = ["9.1.0", "9.1.1", "9.2.0"]
    rows = [replace(row, cann=CannVersion.parse(cann)) for cann in canns]
    found = proposals(compat=replace(facts(OLD), pairings=(*facts(OLD).pairings, *rows)))
    assert [each.what.partition(", as")[0].split()[-1] for each in found] == ["9.1.1", "9.2.0"]


@pytest.mark.parametrize(("today", "count"), [("2026-10-15", 1), ("2026-10-16", 0)])
def test_a_torch_whose_maintenance_has_ended_is_left_out(today: str, count: int) -> None:
    # Maintenance of torch_npu for torch 2.8.0 ends on 2026-10-15.
    [row] = facts(OLD).pairings
    newer = replace(row, cann=CannVersion.parse("9.1.0"), torch_npu="2.8.0.post9")
    compat = replace(facts(OLD), pairings=(row, newer))
    assert len(proposals(today=today, compat=compat)) == count


def test_nothing_is_proposed_for_what_targets_have() -> None:
    assert proposals(compat=facts(OLD)) == []


def test_a_matrix_that_cannot_be_edited_is_left_alone() -> None:
    block = TEXT[TEXT.index("      pair:\n") : TEXT.index("    common: {platform")]
    cann = "&cann {toolkit: 9.0.0, kernels: 9.0.0, nnal: 9.0.0, chip: 910b}"
    pair = f"{{summary: one, cann: {cann}, torch: 2.8.0, torch_npu: {OLD}}}"
    text = edited(block, f"      pair: {{torch280-cann900: {pair}}}\n", TEXT)
    [found] = proposals(text)
    assert found.addition.files["matrix.yaml"] == text
    assert "it is not an indented mapping" in found.problem


def test_without_a_family_of_pairs_it_is_left_to_people() -> None:
    text = TEXT.replace("          torchvision: 0.23.0\n", "          deepspeed: 0.18.4\n")
    [found] = proposals(text)
    assert found.addition.files["matrix.yaml"] == text
    assert "'build.py new' adds a single target" in found.problem
