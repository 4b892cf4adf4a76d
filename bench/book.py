# SPDX-License-Identifier: Apache-2.0
"""Keeps the results of a machine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import draw, machine
from bench.result import Figure, load, merged, save
from cannery.common.errors import Problem, UsageError
from cannery.common.files import write_files


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
