# SPDX-License-Identifier: Apache-2.0
"""``python -m bench``: measures, stores the results and draws them."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import checkout, draw, figures, first_use, machine
from bench.arguments import ROOT, parse
from bench.figures import Work
from bench.result import Figure, load, merged, save
from cannery.common.errors import INTERRUPTED, CanneryError, Problem, UsageError
from cannery.common.files import write_files
from cannery.common.model import Target
from cannery.engine.base import building_architecture
from cannery.matrix.project import Project, select


class Book:
    """The results of this machine, stored and drawn again after every figure."""

    def __init__(self, root: Path, *, emulated: bool) -> None:
        self._root, self._emulated = root, emulated
        # Before the first figure is kept, which changes files of the checkout.
        self._commit = machine.commit(root)
        name = machine.name(machine.facts(emulated))
        self.path = root / "bench" / "results" / f"{name}.json"
        self._results: dict[str, Any] = load(self.path)
        self.good = True

    def keep(self, figures: Sequence[Figure]) -> None:
        """Add ``figures`` to the results and print them."""
        # Only now, because a measurement may have installed the engine.
        facts, date = machine.facts(self._emulated), datetime.now(tz=UTC).date().isoformat()
        self._results = merged(self._results, facts, figures, date=date, commit=self._commit)
        save(self.path, self._results)
        self.draw()
        for figure in figures:
            self.good &= figure.passed is not False
            print(draw.line(figure), flush=True)

    def draw(self) -> None:
        """Write bench/README.md.

        Raises:
            UsageError: nothing was measured on this machine.
        """
        if not self._results:
            what = f"there are no results of this machine: {self.path} is missing."
            raise UsageError(Problem(what=what, fix="Measure something first."))
        write_files({self._root / "bench" / "README.md": draw.page(self._results)})


def run(argv: Sequence[str] | None) -> int:
    """Do what the options say; returns 1 if a figure is above its limit, else 0.

    Raises:
        CanneryError: a figure could not be measured; the figures before it are stored.
    """
    options = parse(argv)
    # With this set, every start would compile all modules again, unlike on a user's machine.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    project = Project(root=ROOT)
    target = select(project.matrix(), [options.target])[0]
    book = Book(ROOT, emulated=target.docker_arch != building_architecture())
    if options.draw:
        book.draw()
        return 0
    with tempfile.TemporaryDirectory(prefix="cannery-bench-") as folder:
        for found in _measured(options, project, target, Path(folder)):
            book.keep(found)
    return int(not book.good)


def _measured(
    options: Namespace, project: Project, target: Target, folder: Path
) -> Iterator[list[Figure]]:
    """The figures that the options name, each as soon as it was measured."""
    if options.new_machine:
        for figure in first_use.new_machine(project.root, folder):
            yield [figure]
        return
    work = Work(
        # A copy, so that the checkout can be edited meanwhile and its state has no influence.
        project=checkout.copied(project, folder / "checkout"),
        of=project,
        runs=options.runs,
        target=target,
        folder=folder,
        real_size=round(options.real_size * 1e9),
    )
    yield from figures.measured(work, options.only)


def main(argv: Sequence[str] | None = None) -> int:
    """``run``, with errors as messages and exit codes; see docs/reference.md."""

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        return run(argv)
    except CanneryError as error:
        for problem in error.problems:
            print(f"bench: {problem}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("bench: interrupted; its engine and network were removed.", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
