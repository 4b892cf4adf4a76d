# SPDX-License-Identifier: Apache-2.0
"""All figures by their letters, and what measures them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import figures_build, figures_commands, figures_real, figures_set
from bench.engine import private_engine
from bench.figures_build import Plan
from bench.result import Figure
from bench.session import Session
from cannery.common import console
from cannery.common.model import Target
from cannery.common.package_index import package_index
from cannery.matrix.project import Project

Builds = Callable[[Session, Plan], list[Figure]]

ON_ENGINE: dict[str, Builds] = {
    "a": figures_build.cold,
    "c": figures_build.moved,
    "i": figures_commands.tests,
    "k": figures_real.cold,
    "e": figures_set.all_targets,
}
"""In this order, because a figure uses images that an earlier one has built; (e) removes them."""

WITHOUT_ENGINE = ("h",)
LETTERS = sorted([*ON_ENGINE, *WITHOUT_ENGINE])


@dataclass(frozen=True, kw_only=True)
class Work:
    """What to measure and where: ``project`` is a copy of the checkout ``of``."""

    project: Project
    of: Project
    runs: int
    target: Target
    folder: Path
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
            main=self.target,
            all=here,
            runs=self.runs or 3,
            slow_runs=self.runs or 1,
            real_size=self.real_size,
        )

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Builds on an engine of their own.

        Raises:
            EngineError: it does not start, or another bench is running.
        """
        with private_engine() as engine:
            yield Session(
                project=self.project,
                engine=engine,
                source=package_index(None, ""),
                folder=self.folder,
                logs=self.of.state / "bench" / "logs",
            )


def measured(work: Work, letters: Sequence[str]) -> Iterator[list[Figure]]:
    """The figures of ``letters``, each as soon as it was measured.

    Raises:
        CanneryError: a figure cannot be measured.
    """
    if "h" in letters:
        yield figures_commands.forty(work.project, work.folder, work.runs)
    if not (left := [letter for letter in letters if letter in ON_ENGINE]):
        return
    with work.session() as session:
        for letter in left:
            console.say(f"figure ({letter})")
            yield ON_ENGINE[letter](session, work.plan())
