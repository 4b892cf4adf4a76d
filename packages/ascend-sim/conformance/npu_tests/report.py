# SPDX-License-Identifier: Apache-2.0
"""Writes the results as a page of docs/."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from conformance.npu_tests.groups import RULES, UNKNOWN, Blame, Failure, failures
from conformance.operators.report import cell, share
from conformance.operators.run import Results

HEADING = """\
# Tests of op-plugin and torch_npu on the software device

`python -m conformance.npu_tests` wrote this page. It runs the tests that come with op-plugin
(`test/test_base_ops`) and with torch_npu (`test/npu`, `test/contrib`) as they are, with pytest, on
a simulated NPU. Each file is run in a process of its own. A case that crashes or hangs counts for
itself, and the cases after it are run in another process; so are those after a case that left
torch_npu's queue in error, since it drops every later operator then.

A case that the tests skip themselves, as for another chip or release, does not count. A case
*needs no real kernel* unless the reason why it fails is that something is not there.

"""


@dataclass(frozen=True)
class Count:
    """Cases by what became of them."""

    passed: int
    skipped: int
    failed: tuple[Failure, ...]

    @property
    def run(self) -> int:
        """Cases that the tests did not skip."""
        return self.passed + len(self.failed)

    def failed_by(self, blame: Blame) -> int:
        """Failures whose reason lies there."""
        return sum(failure.rule.blame is blame for failure in self.failed)

    @property
    def needs_nothing(self) -> int:
        """Cases that need no real kernel."""
        return self.run - self.failed_by(Blame.ABSENT)


def count(results: Results) -> Count:
    """The figures of some files."""
    found = [result for cases in results.values() for result in cases.values()]
    return Count(
        passed=found.count("pass"),
        skipped=sum(result.startswith("skip") for result in found),
        failed=tuple(failures(results)),
    )


def suites(results: Results) -> dict[str, Results]:
    """The results by repository."""
    found: dict[str, Results] = {}
    for file, cases in sorted(results.items()):
        found.setdefault(file.partition("/")[0], {})[file] = cases
    return found


def summary(results: Results) -> str:
    """One row a repository, and one for all."""
    heads = ("files", "cases run", "skipped", "need no real kernel", "of these, pass")
    rows = [f"|  | {' | '.join([*heads, *Blame])} |", "|--" * (len(heads) + len(Blame) + 1) + "|"]
    for name, part in {**suites(results), "all": results}.items():
        figures = count(part)
        cells = [len(part), figures.run, figures.skipped, figures.needs_nothing]
        passed = share(figures.passed, figures.needs_nothing)
        blames = [figures.failed_by(blame) for blame in Blame]
        rows.append(f"| {' | '.join(map(str, [name, *cells, passed, *blames]))} |")
    return "\n".join(rows) + "\n"


def groups(failed: Iterable[Failure]) -> str:
    """One row a group of failures."""
    counts = Counter(failure.rule for failure in failed)
    rows = ["| group | cases | reason lies in | why |", "|--|--|--|--|"]
    rows += [
        f"| {rule.group} | {counts[rule]} | {rule.blame} | {cell(rule.reason)} |"
        for rule in (*RULES, UNKNOWN)
        # No crash and no hang is worth a row too.
        if counts[rule] or rule.group in {"crash", "hang"}
    ]
    return "\n".join(rows) + "\n"


def listed(failed: Iterable[Failure]) -> str:
    """One row for what the cases of a group say, with their files."""
    rows: dict[tuple[str, str], list[Failure]] = {}
    for failure in failed:
        rows.setdefault((failure.rule.group, failure.reason), []).append(failure)
    lines = ["| group | cases | message | files |", "|--|--|--|--|"]
    for (group, why), found in sorted(rows.items(), key=lambda row: (row[0][0], -len(row[1]))):
        files = sorted({failure.file.rpartition("/")[2] for failure in found})
        lines.append(f"| {group} | {len(found)} | {cell(why)} | {', '.join(files)} |")
    return "\n".join(lines) + "\n"


def page(results: Results, every: int, measured: str) -> str:
    """The page of docs/: `every` is the number of files that there are."""
    failed = count(results).failed
    files = f"all {every} files"
    if len(results) < every:
        files = f"{len(results)} of {every} files, chosen at random"
    return (
        f"{HEADING}Measured with {measured}: {files}.\n\n{summary(results)}"
        f"\n## Groups of failures\n\n{groups(failed)}"
        f"\n## What the failures say\n\n{listed(failed)}"
    )
