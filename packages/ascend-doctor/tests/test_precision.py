# SPDX-License-Identifier: Apache-2.0
"""How often ``--log`` is right: the floors, and that docs/precision.md has the figures of today."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.log_cases import CASES, GROUPS
from tests.score import CLOSED, Verdict, judge_all, misses, tally
from tests.tools import answers
from tests.tools.precision import PAGE, page

PUBLIC = ("open", "closed", "shared")


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    """The verdicts on all cases, made once."""
    return judge_all()


def test_the_page_has_the_figures_of_today(verdicts: list[Verdict]) -> None:
    assert PAGE.read_text(encoding="utf-8") == page(verdicts), (
        "run: python -m tests.tools.precision"
    )


def test_there_are_enough_cases(verdicts: list[Verdict]) -> None:
    assert tally(verdicts, "failure", *GROUPS)["cases"] >= 800
    closed, public = (tally(verdicts, "failure", *of)["cases"] for of in ([CLOSED], PUBLIC))
    assert public >= 750
    assert closed >= 0.25 * public, "a fixed part of the public failures is to be closed"
    assert tally(verdicts, "healthy", *GROUPS)["cases"] >= 110
    assert tally(verdicts, "healthy", *PUBLIC)["cases"] >= 90


def test_no_case_breaks_the_doctor(verdicts: list[Verdict]) -> None:
    assert sum(v.outcome == "broken" for v in verdicts) == 0


def test_the_closed_failures_are_told_as_often_as_before(verdicts: list[Verdict]) -> None:
    n = tally(verdicts, "failure", CLOSED)
    assert n["right"] >= 0.66 * n["cases"], f"{n['right']} of {n['cases']} right"
    assert n["wrong"] <= 0.03 * n["cases"], f"{n['wrong']} of {n['cases']} wrong"


def test_the_open_failures_are_told_right(verdicts: list[Verdict]) -> None:
    n = tally(verdicts, "failure", "open")
    assert n["right"] >= 0.78 * n["cases"], misses(verdicts)
    assert n["wrong"] == 0, misses(verdicts)


def test_the_first_50_cases_are_told_right(verdicts: list[Verdict]) -> None:
    n = tally(verdicts, "failure", "shared")
    assert n["right"] >= 40, misses(verdicts)
    assert n["wrong"] == 0, misses(verdicts)


def test_the_failures_of_2026_11_27_are_told_right() -> None:
    cases = answers.read_set(CASES / "answers-2026-11-27.jsonl")
    counts = Counter(answers.verdict_of(case) for case in cases)
    assert counts["right"] >= 0.9 * len(cases), counts
    assert counts["wrong"] == 0, counts


def test_the_failures_that_version_1_3_0_saw_first_are_told_right() -> None:
    cases = answers.read_set(CASES / "answers-1.3.0.jsonl")
    counts = Counter(answers.verdict_of(case) for case in cases)
    assert counts["right"] >= 0.9 * len(cases), counts
    assert counts["wrong"] == 0, counts


def test_the_failures_that_version_1_5_0_was_made_with_are_told_right() -> None:
    cases = answers.read_set(CASES / "answers-1.4.0.jsonl")
    counts = Counter(answers.verdict_of(case) for case in cases)
    assert counts["right"] >= 0.9 * len(cases), counts
    assert counts["wrong"] == 0, counts


def test_healthy_logs_raise_nothing(verdicts: list[Verdict]) -> None:
    assert tally(verdicts, "healthy", *GROUPS)["alarm"] == 0, misses(verdicts)


def test_the_first_failed_rank_is_named(verdicts: list[Verdict]) -> None:
    mixed = [v for v in verdicts if v.case.name.startswith("ranks-")]
    assert len(mixed) == 20
    assert sum(v.rank_right is True for v in mixed) >= 18, misses(mixed)
