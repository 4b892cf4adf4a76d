# SPDX-License-Identifier: Apache-2.0
"""The command line and the table of a campaign: random cases, each of which has an outcome."""

from __future__ import annotations

import argparse
import contextlib
import io
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

FAILURE = "FAILURE"
"""The outcome of a case that must not happen."""


class Verdict(Protocol):
    """The outcome of a case of some kind."""

    @property
    def kind(self) -> str: ...

    @property
    def outcome(self) -> StrEnum: ...


class Told(Verdict, Protocol):
    """A verdict that can be told, with everything that is needed to look into it."""

    def told(self, seed: int) -> str: ...


Begin = Callable[[int], AbstractContextManager[Callable[[int], Told]]]
"""With a seed, gives the function that judges the case of a number."""


def table(heading: str, verdicts: Iterable[Verdict], outcomes: type[StrEnum]) -> str:
    """How many cases of each kind had each outcome."""
    counts = Counter((each.kind, each.outcome) for each in verdicts)
    kinds = sorted({kind for kind, _ in counts})
    width = max(map(len, [heading, *kinds])) + 2
    widths = {each: max(len(each) + 2, 10) for each in outcomes}
    lines = [f"{heading:<{width}}" + "".join(f"{each:>{widths[each]}}" for each in outcomes)]
    for kind in kinds:
        numbers = "".join(f"{counts[kind, each]:>{widths[each]},}" for each in outcomes)
        lines.append(f"{kind:<{width}}{numbers}")
    totals = {each: sum(counts[kind, each] for kind in kinds) for each in outcomes}
    sums = "".join(f"{totals[each]:>{widths[each]},}" for each in outcomes)
    return "\n".join([*lines, f"{'all':<{width}}{sums}"])


def main(package: str, unit: str, count: int, begin: Begin) -> int:
    """Judge cases, print every failure and the table; 1 if there is a failure."""
    parser = argparse.ArgumentParser(prog=f"python -m {package}")
    parser.add_argument("--count", type=int, default=count, help=f"how many {unit}s ({count:,})")
    parser.add_argument("--seed", type=int, default=1, help=f"which {unit}s (1)")
    parser.add_argument("--only", type=int, help=f"this {unit} alone, and what became of it")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with begin(options.seed) as judge:
        if options.only is not None:
            print(judge(options.only).told(options.seed))
            return 0
        verdicts = []
        for number in range(options.count):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                verdict = judge(number)
            verdicts.append(verdict)
            if verdict.outcome == FAILURE or "Traceback" in said.getvalue():
                print(verdict.told(options.seed), said.getvalue(), sep="\n", flush=True)
    failures = [each for each in verdicts if each.outcome == FAILURE]
    if verdicts:
        print(table(f"kind of {unit}", verdicts, type(verdicts[0].outcome)))
    return int(bool(failures))
