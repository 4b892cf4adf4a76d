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

from bench import checkout, figures, first_use
from bench.arguments import ROOT, parse
from bench.book import Book
from bench.figures import Work
from bench.result import Figure
from cannery.common.errors import INTERRUPTED, CanneryError
from cannery.common.model import Target
from cannery.engine.base import building_architecture
from cannery.matrix.project import Project, select


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
    if options.first_use:
        yield first_use.first_use(project.root, folder)
        return
    if options.ci:
        for figure in first_use.ci(project.root, folder):
            yield [figure]
        return
    work = Work(
        # A copy, so that the checkout can be edited meanwhile and its state has no influence.
        project=checkout.copied(project, folder / "checkout"),
        of=project,
        runs=options.runs,
        target=target,
        folder=folder,
        count=options.targets,
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
