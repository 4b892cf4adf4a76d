# SPDX-License-Identifier: Apache-2.0
"""Writes docs/precision.md: how often ``--log`` is right over all cases, and cause by cause."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests import score

PAGE = Path(__file__).resolve().parents[1] / "docs" / "precision.md"
HEAD = """# Precision

How often `ascend-doctor --log` names the right cause, over the cases in `tests/cases/`. `open` and
`closed` are from public threads, `shared` are the first fifty of them, `own` were made for this
test. Silent means that the doctor says that it does not know the cause. This page is written by
`python -m tools.precision`.

The reader was made with the logs of `open`, `own` and `shared`, so their figures say little about
other logs. Who works on it does not look at the texts of `closed`; of its first 111 failures, 37
were typed, with their answers, by who changed the reader afterwards. The best figures for logs that
are new are those before any change for them: of 80 public failures of 2026-11-25 (half of them in
`closed` now), 52 were told right, 3 wrong, and of 25 the doctor said that it does not know. Later
ones went to `open`, each batch labelled before the reader saw it, and counted before the reader was
mended:

    failures   right  wrong  silent
          29      19      3       7
          29      24      1       4
          28      17      1      10
          36      29      0       7
          19      16      0       3
          33      31      0       2
          37      31      1       5
          16      12      0       4
          20      13      0       7
          37      31      0       6
          23      20      0       3

Together 243 of 307 (79 %) were told right and 6 (2 %) wrong; of the eight healthy logs among them
one was taken for a failure. The sixth to eighth and the last batch have more logs with a code of
CANN than the others, because they were searched for by codes or are from CANN's own pages.

Another batch of that day went to `closed`, so that it has nearly a third of the public failures. It
was typed and labelled by who does not work on the reader, and counted once, at its first run:

    failures   right  wrong  silent
         144     117      5      22

That is 81 % right and 3 % wrong. Of the right answers, 39 say no more than which exception or code
came first, where the label accepts that. None of the batch's 27 healthy logs was taken for a
failure, and no label was changed afterwards. Two thirds of its failures are threads of vllm-ascend.
Of the 111 failures that were in `closed` before, 90 were told right at that time and 4 wrong, and
of 17 the doctor said that it does not know.

Afterwards somebody who does not work on the reader wrote down, without any text, name or answer, by
which kinds of mistakes it was wrong in `closed`: a range of codes beside words that say more, say.
The reader was mended by these kinds with examples of its own, and the choice between two forms of a
pattern was made by the totals. So the figures of `closed` below are a little better than those of
logs that nobody has seen.
"""


def page(verdicts: list[score.Verdict]) -> str:
    """The page for these verdicts."""
    rows = "\n".join("    " + line if line else "" for line in score.table(verdicts).splitlines())
    return f"{HEAD}\n{rows}\n\n## By cause\n\n{_by_cause(verdicts)}"


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
