# SPDX-License-Identifier: Apache-2.0
"""The command line and the table of a campaign: random cases, each of which has an outcome."""

from __future__ import annotations

import argparse
import contextlib
import io
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
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


class Case(Protocol):
    """What was tried; its number and the campaign's seed make it again."""

    @property
    def number(self) -> int: ...

    @property
    def kind(self) -> str: ...

    @property
    def title(self) -> str:
        """The case in a few words."""


@dataclass(frozen=True, kw_only=True)
class CaseVerdict:
    """The outcome of a case, with what was said, or why it is a failure."""

    case: Case
    outcome: StrEnum
    why: str = ""

    @property
    def kind(self) -> str:
        return self.case.kind

    def told(self, seed: int) -> str:
        """The verdict, with everything that is needed to look into it."""
        package = type(self.case).__module__.rpartition(".")[0]
        again = f"python -m {package} --seed {seed} --only {self.case.number}"
        return f"{self.outcome}: {self.case.title}; again: {again}\n{self.why}"


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


def main(package: str, unit: str, count: int, begin: Begin, outcomes: type[StrEnum]) -> int:
    """Judge cases, print every failure and the table; 1 if there is a failure."""
    parser = argparse.ArgumentParser(prog=f"python -m {package}")
    parser.add_argument("--count", type=int, default=count, help=f"how many {unit}s ({count:,})")
    parser.add_argument("--seed", type=int, default=1, help=f"which {unit}s (1)")
    parser.add_argument("--first", type=int, default=0, help=f"the number of the first {unit} (0)")
    parser.add_argument("--log", type=Path, help=f"a file of outcomes; {unit}s in it are done")
    parser.add_argument("--only", type=int, help=f"this {unit} alone, and what became of it")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    # Engines, servers and disks are taken down then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if options.only is not None:
        with begin(options.seed) as judge:
            print(judge(options.only).told(options.seed))
        return 0
    done = _logged(options.log, options.seed, outcomes) if options.log else {}
    numbers = range(options.first, options.first + options.count)
    left = [number for number in numbers if number not in done]
    if left:
        with begin(options.seed) as judge:
            done |= _judged(judge, left, options)
    verdicts = [done[number] for number in numbers]
    if verdicts:
        print(table(f"kind of {unit}", verdicts, outcomes))
    return int(any(each.outcome == FAILURE for each in verdicts))


def _judged(
    judge: Callable[[int], Told], numbers: Iterable[int], options: argparse.Namespace
) -> dict[int, Verdict]:
    """Judge the cases ``numbers``, print the failures, and append the outcomes to the log."""
    verdicts: dict[int, Verdict] = {}
    for number in numbers:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            verdict = judge(number)
        verdicts[number] = verdict
        if verdict.outcome == FAILURE or "Traceback" in said.getvalue():
            print(verdict.told(options.seed), said.getvalue(), sep="\n", flush=True)
        if options.log:
            with options.log.open("a", encoding="utf-8") as log:
                print(options.seed, number, verdict.outcome, verdict.kind, sep="\t", file=log)
    return verdicts


@dataclass(frozen=True, kw_only=True)
class Logged:
    """A verdict that was read from a log."""

    kind: str
    outcome: StrEnum


def _logged(log: Path, seed: int, outcomes: type[StrEnum]) -> dict[int, Verdict]:
    """The last outcome of each case in ``log`` that is no failure, by number."""
    found: dict[int, Verdict] = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        own_seed, number, outcome, kind = line.split("\t")
        if int(own_seed) == seed:
            found[int(number)] = Logged(kind=kind, outcome=outcomes(outcome))
    return {number: each for number, each in found.items() if each.outcome != FAILURE}
