# SPDX-License-Identifier: Apache-2.0
"""The figures in docs/precision.md are those of today. tests/score.py has the floors."""

from __future__ import annotations

from tests import score
from tools.precision import PAGE, page


def test_the_page_has_the_figures_of_today() -> None:
    verdicts = score.judge_all()
    assert PAGE.read_text(encoding="utf-8") == page(verdicts), "run: python -m tools.precision"
    score.test_no_case_breaks_the_doctor(verdicts)
    score.test_the_first_50_cases_are_told_right(verdicts)
    score.test_healthy_logs_raise_nothing(verdicts)
    score.test_the_rank_that_failed_first_is_named(verdicts)
