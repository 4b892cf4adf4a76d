# SPDX-License-Identifier: Apache-2.0
"""``python -m bench``: measures, stores the results and draws them."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import checkout, compare, figures, first_use, history, quick
from bench.arguments import ROOT, parse
from bench.book import Book
from bench.figures import Work
from bench.result import Figure
from cannery.common.errors import INTERRUPTED, CanneryError
from cannery.common.model import Target
from cannery.engine.base import building_architecture
from cannery.matrix.project import Project, select


def run(argv: Sequence[str] | None) -> int:
    """Do what the options say.

    Returns 1 if a figure is above its limit, unless there is ``--out``, or if one is slower with
    ``--compare``; else 0.

    Raises:
        CanneryError: a figure could not be measured; the figures before it are stored.
    """
    options = parse(argv)
    # With this set, every start would compile all modules again, unlike on a user's machine.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    project = Project(root=options.of.resolve())
    matrix = project.matrix()
    main_, second = (select(matrix, [name])[0] for name in (options.target, options.second))
    book = Book(
        ROOT,
        emulated=main_.docker_arch != building_architecture(),
        of=project.root,
        quick=options.quick,
        out=options.out,
    )
    if options.compare:
        before, after = (history.side(name, book.history) for name in options.compare)
        rows = compare.compared(before, after)
        print(compare.text(rows), end="")
        return int(any(row.verdict == compare.SLOWER for row in rows))
    if options.draw:
        book.draw()
    if options.draw or options.history:
        book.draw_history()
        return 0
    with tempfile.TemporaryDirectory(prefix="cannery-bench-") as folder, book.run():
        for found in _measured(options, project, (main_, second), Path(folder), book):
            book.keep(found)
    return int(not book.good and not options.out)


def _measured(
    options: Namespace, project: Project, targets: tuple[Target, Target], folder: Path, book: Book
) -> Iterator[list[Figure]]:
    """The figures that the options name, each as soon as it was measured."""
    if options.first_use:
        yield first_use.first_use(project.root, folder)
        return
    if options.ci:
        for figure in first_use.ci(project.root, folder):
            yield [figure]
        return
    budget = quick.Budget()
    work = Work(
        # A copy, so that the checkout can be edited meanwhile and its state has no influence.
        project=checkout.copied(project, folder / "checkout"),
        of=project,
        runs=options.runs,
        targets=targets,
        folder=folder,
        cold=book.baseline_cold,
        count=options.targets,
        real_size=round(options.real_size * 1e9),
    )
    if options.quick:
        yield from quick.measured(work, options.only, budget)
    else:
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
