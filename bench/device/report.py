# SPDX-License-Identifier: Apache-2.0
"""Counts results, and writes them as a page of docs/."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.device.explained import explanation
from bench.device.run import Results

HEADING = """\
# Operators on the software device

`python -m bench.device` wrote this page. It calls every operator of torch's OpInfo on a simulated
NPU, in torch_npu's default mode, and compares with the CPU, in the same type or in float64.
Forward: {types}; backward: float32; up to 3 samples a type. An operator that draws random
numbers is compared by shape. Operators run in processes of their own, so that a crash or a hang
counts for one case only.

"""
TYPES = "float32, bfloat16, int64, bool, complex64"


@dataclass(frozen=True)
class Count:
    """How many operators pass, and how many cases do not."""

    operators: int
    every: int
    some: int
    none: int
    cases: int
    failing: int
    crashes: int
    hangs: int
    wrong: int
    explained: int


def failures(results: Results) -> Iterator[tuple[str, str, str, str | None]]:
    """Operator, case, what was found, and why, of each case that did not pass."""
    for operator, cases in sorted(results.items()):
        for case, found in cases.items():
            if found != "pass":
                yield operator, case, found, explanation(operator, case, found)


def count(results: Results) -> Count:
    """The figures of one direction; an operator without samples does not count."""
    passed = {
        name: [r == "pass" for r in cases.values()] for name, cases in results.items() if cases
    }
    failed = list(failures(results))
    every = sum(all(values) for values in passed.values())
    none = sum(not any(values) for values in passed.values())
    wrong = [row for row in failed if row[2].startswith("wrong")]
    return Count(
        operators=len(passed),
        every=every,
        some=len(passed) - every - none,
        none=none,
        cases=sum(len(values) for values in passed.values()),
        failing=len(failed),
        crashes=sum(found.startswith("crash") for _, _, found, _ in failed),
        hangs=sum(found == "hang" for _, _, found, _ in failed),
        wrong=sum(why is None for _, _, _, why in wrong),
        explained=sum(why is not None for _, _, _, why in wrong),
    )


def share(part: int, whole: int) -> str:
    """A percentage; empty where there is nothing."""
    return f"{100 * part / whole:.1f} %" if whole else ""


def summary(counts: Mapping[str, Count]) -> str:
    """One row a direction."""
    columns = ("operators", "all cases pass", "", "some", "none", "cases", "fail", "crashes")
    names = ("", *columns, "hangs", "wrong values", "wrong, explained")
    rows = [f"| {' | '.join(names)} |", "|" + "--|" * len(names)]
    for way, c in counts.items():
        cells: tuple[object, ...] = (
            way,
            c.operators,
            c.every,
            share(c.every, c.operators),
            c.some,
            c.none,
            c.cases,
        )
        cells += (c.failing, c.crashes, c.hangs, c.wrong, c.explained)
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows) + "\n"


def kind(found: str) -> str:
    """What failing cases are grouped by: the error without what differs from case to case."""
    if found.startswith("wrong"):
        return "wrong values"
    text = re.sub(r"\s+", " ", found.removeprefix("Inner error: "))
    text = re.sub(r"\[(ERROR|W|E)[^\]]*\].*|Exception raised.*|0x[0-9a-f]+", "", text)
    return text[:110].strip().replace("|", "/")


def groups(results: Results) -> str:
    """Failing cases by reason, most first, with the operators."""
    reasons: Counter[str] = Counter()
    operators: dict[str, set[str]] = {}
    for operator, _, found, why in failures(results):
        reason = why or kind(found)
        reasons[reason] += 1
        operators.setdefault(reason, set()).add(operator)
    rows = ["| cases | reason | operators |", "|--|--|--|"]
    for reason, number in reasons.most_common():
        rows.append(f"| {number} | {reason} | {', '.join(sorted(operators[reason]))} |")
    return "\n".join(rows) + "\n"


def page(results: Mapping[str, Results], machine: str, versions: str) -> str:
    """The page of docs/."""
    counts = {way: count(found) for way, found in results.items()}
    text = (
        HEADING.format(types=TYPES)
        + f"Measured with {versions}, on {machine}.\n\n"
        + summary(counts)
    )
    for way, found in results.items():
        text += f"\n## Cases that do not pass, {way}\n\n{groups(found)}"
    return text
