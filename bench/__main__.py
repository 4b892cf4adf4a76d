# SPDX-License-Identifier: Apache-2.0
"""``python -m bench``: measures, stores the results and draws them."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from bench import (
    checkout,
    figures_build,
    figures_image,
    figures_real,
    figures_scale,
    figures_text,
)
from bench.book import Book
from bench.engine import private_engine
from bench.figures_build import Plan
from bench.first_use import first_use
from bench.result import Figure
from bench.session import Session
from cannery import console
from cannery.errors import INTERRUPTED, CanneryError, UsageError, did_you_mean
from cannery.execute.engine.base import building_architecture
from cannery.execute.engine.buildx import package_index
from cannery.matrix.project import Project, select
from cannery.model import Target

ROOT = Path(__file__).resolve().parent.parent
MAIN = "py39-torch231-cann8t39"
SECOND = "py39-torch231-cann8t39-ds0143"

Builds = Callable[[Session, Plan], list[Figure]]

ON_ENGINE: dict[str, Builds] = {
    "a": figures_build.cold,
    "b": figures_build.unchanged,
    "c": figures_build.moved,
    "d": figures_build.second,
    "f": figures_image.transfer,
    "g": figures_image.size,
    "i": figures_image.tests,
    "k": figures_real.cold,
    "l": figures_real.disk,
    "e": figures_build.all_targets,
}
"""In this order, because a figure uses images that an earlier one has built; (e) removes them."""

WITHOUT_ENGINE = ("h", "j", "m")
LETTERS = sorted([*ON_ENGINE, *WITHOUT_ENGINE])

_EPILOG = """\
figures:
  a  cold build                         f  bytes pushed and pulled for a second target
  b  rebuild with nothing changed       g  image size
  c  rebuild after one library moved    h  render --check, and commands that only look
  d  second target of a family          i  the image tests
  e  all targets that can be built here, in one build: time and bytes
  j  the unit tests                     k  cold build with packages of real size
                                        l  disk space of packages of real size
  m  1,000 targets and 10,000 tags: time and memory

All figures but h, j and m start a separate engine. They need root, dockerd, iproute2, iptables and
disk space (e: about 5 GB a target; k, l: 6 GB and 3.2 times --real-size). f and m need
docker-registry. All figures together take hours under emulation.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. 'python -m bench --help' lists the options.")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="python -m bench",
        description="Compares this checkout with the usual way to build NPU images.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    letters = ",".join(LETTERS)
    parser.add_argument("--only", default=letters, metavar="a,b,...", help="measure only these")
    parser.add_argument(
        "--runs",
        type=int,
        default=0,
        metavar="N",
        help="samples of each figure (default: 3, or 1 if a sample takes many minutes)",
    )
    parser.add_argument("--target", default=MAIN, metavar="ID", help=f"default: {MAIN}")
    parser.add_argument(
        "--second",
        default=SECOND,
        metavar="ID",
        help=f"a target with the same CANN (default: {SECOND})",
    )
    parser.add_argument(
        "--real-size",
        type=float,
        default=4.5,
        metavar="GB",
        help="size of the installed toolkit and kernels in figures k and l (default: 4.5)",
    )
    parser.add_argument(
        "--first-use",
        action="store_true",
        help="measure only the README's two commands, on a machine without an engine",
    )
    parser.add_argument(
        "--draw", action="store_true", help="measure nothing, and draw the stored results again"
    )
    return parser.parse_args(argv)


def run(argv: Sequence[str] | None) -> int:
    """Measure the chosen figures. Returns 1 if a figure is above its limit, else 0.

    Raises:
        CanneryError: a figure could not be measured; the figures before it are stored.
    """
    options = _arguments(argv)
    # With this set, every start would compile all modules again, unlike on a user's machine.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    letters = chosen(options.only)
    if options.runs < 0:
        raise UsageError("--runs must not be negative.")
    if not 0 < options.real_size < float("inf"):
        raise UsageError("--real-size must be a positive number.")
    project = Project(root=ROOT)
    matrix = project.matrix()
    main_, second = (select(matrix, [name])[0] for name in (options.target, options.second))
    book = Book(ROOT, emulated=main_.docker_arch != building_architecture())
    if options.draw:
        book.draw()
        return 0
    with tempfile.TemporaryDirectory(prefix="cannery-bench-") as folder:
        if options.first_use:
            book.keep(first_use(ROOT, Path(folder)))
            return 0
        # A copy, so that the checkout can be edited meanwhile and its state has no influence.
        copy = checkout.copied(project, Path(folder) / "checkout")
        work = Work(
            project=copy,
            runs=options.runs,
            targets=(main_, second),
            folder=Path(folder),
            cold=book.baseline_cold,
            real_size=round(options.real_size * 1e9),
        )
        for figures in measured(work, letters):
            book.keep(figures)
    return int(not book.good)


def chosen(text: str) -> list[str]:
    """The letters of figures in ``text``, in the order in which they are measured.

    Raises:
        UsageError: a letter is unknown, or there is none.
    """
    letters = {letter.strip() for letter in text.split(",") if letter.strip()}
    if unknown := sorted(letters - {*LETTERS}):
        hint = did_you_mean(unknown[0], LETTERS)
        raise UsageError(f"there is no figure {unknown[0]!r}. {hint}")
    if not letters:
        raise UsageError("--only names no figure.")
    return [letter for letter in (*WITHOUT_ENGINE, *ON_ENGINE) if letter in letters]


@dataclass(frozen=True, kw_only=True)
class Work:
    """What to measure and where.

    ``cold`` returns the seconds of the baseline's cold build, or 0 if it was not measured yet.
    """

    project: Project
    runs: int
    targets: tuple[Target, Target]
    folder: Path
    cold: Callable[[], float]
    real_size: int

    def plan(self) -> Plan:
        """The targets and the numbers of samples for the figures that need an engine."""
        artifacts = self.project.artifacts
        here = tuple(
            target
            for target in self.project.matrix().targets.values()
            if all((artifacts / file.name).is_file() for file in target.real_artifacts.values())
        )
        return Plan(
            main=self.targets[0],
            second=self.targets[1],
            all=here,
            runs=self.runs or 3,
            slow_runs=self.runs or 1,
            cold=self.cold(),
            real_size=self.real_size,
        )


def measured(work: Work, letters: Sequence[str]) -> Iterator[list[Figure]]:
    """The figures of ``letters``, each as soon as it was measured.

    Raises:
        CanneryError: a figure cannot be measured.
    """
    if "h" in letters:
        yield figures_text.commands(work.project, work.runs, work.targets[0].id)
        yield figures_text.rendering(work.project, work.runs)
    if "j" in letters:
        yield figures_text.unit_tests(Project(root=ROOT))
    if "m" in letters:
        yield figures_scale.commands(work.project)
        yield figures_scale.prune(work.project)
    if not (left := [letter for letter in letters if letter in ON_ENGINE]):
        return
    with private_engine() as engine:
        session = Session(
            project=work.project,
            engine=engine,
            source=package_index(None, ""),
            folder=work.folder,
            logs=ROOT / ".cannery" / "bench" / "logs",
        )
        for letter in left:
            console.say(f"figure ({letter})")
            yield ON_ENGINE[letter](session, work.plan())


def main(argv: Sequence[str] | None = None) -> int:
    """``run``, with errors as messages and exit codes; see docs/exit-codes.md."""

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
