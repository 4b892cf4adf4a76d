# SPDX-License-Identifier: Apache-2.0
"""Writes docs/precision.md: how often ``--log`` is right over all cases, and cause by cause."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests import score
from tests.log_cases import CASES
from tests.tools import answers

PACKAGE = Path(__file__).resolve().parents[2]
PAGE = PACKAGE / "docs" / "precision.md"
HEAD = Path(__file__).with_name("precision_head.md")
"""The sentences before the tables."""


def page(verdicts: list[score.Verdict]) -> str:
    """The page for these verdicts."""
    rows = "\n".join("    " + line if line else "" for line in score.table(verdicts).splitlines())
    head = HEAD.read_text(encoding="utf-8").replace("TABLE-OF-GROUPS", rows)
    for path in sorted(CASES.glob("answers-*.jsonl")):
        cases = answers.read_set(path)
        found = answers.table(cases, [answers.verdict_of(case) for case in cases])
        head = head.replace(
            f"TABLE-OF-{path.stem}", "\n".join("    " + line for line in found.split("\n"))
        )
    return f"{head}\n## By cause\n\n{_by_cause(verdicts)}"


def _by_cause(verdicts: list[score.Verdict]) -> str:
    """Of each cause: cases, how many are right, and how often it was named where it is not."""
    seen = [v for v in verdicts if v.case.group != score.CLOSED and v.case.kind == "failure"]
    cases = Counter(cause for v in seen for cause in _expected(v))
    right = Counter(cause for v in seen if v.outcome == "right" for cause in _expected(v))
    wrong = Counter(v.said for v in seen if v.outcome == "wrong")
    lines = ["| cause | cases | right | wrongly named |", "|--|--:|--:|--:|"]
    for cause in sorted({*cases, *wrong}):
        lines += [f"| `{cause}` | {cases[cause]} | {right[cause]} | {wrong[cause]} |"]
    return "\n".join([*lines, "", "Cases of `closed` are not in this table.", ""])


def _expected(verdict: score.Verdict) -> set[str]:
    """The cause that was named, if it is right, or else the first that is."""
    causes = sorted(verdict.case.causes)
    return {verdict.said} if verdict.said in causes else {*causes[:1]}


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(score.judge_all()), encoding="utf-8")


if __name__ == "__main__":
    main()
