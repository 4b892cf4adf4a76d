# SPDX-License-Identifier: Apache-2.0
"""Keeps the results of a machine, and the history of all runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from bench import draw, draw_history, history, machine
from bench.result import Figure, load, merged, save
from cannery.common.errors import Problem, UsageError
from cannery.common.files import write_files


class Book:
    """The results of this machine, stored and drawn again after every figure.

    ``of`` is the checkout that is measured. With ``quick`` the results stay as they are, and the
    run is only a line of the history; with ``out`` it is a line of this file and nothing else.
    """

    def __init__(
        self, root: Path, *, emulated: bool, of: Path, quick: bool = False, out: Path | None = None
    ) -> None:
        self._root, self._emulated = root, emulated
        self._quick, self._out = quick, out
        # Before the first figure is kept, which changes files of the checkout.
        self._commit = machine.commit(of)
        results = root / "bench" / "results"
        self.path = results / f"{machine.name(machine.facts(emulated))}.json"
        self.history = results / "history.jsonl"
        self._results: dict[str, Any] = load(self.path)
        self._run: list[Figure] = []
        self.good = True

    def baseline_cold(self) -> float:
        """Seconds of the baseline's cold build; 0 if it was not measured on this machine."""
        found = self._results.get("figures", {}).get("cold")
        return float(found["reference"]["median"]) if found else 0.0

    @contextmanager
    def run(self) -> Iterator[Self]:
        """A run, whose figures are a line of the history, also if it fails at a later one."""
        try:
            yield self
        finally:
            if self._run:
                self._close()

    def keep(self, figures: Sequence[Figure]) -> None:
        """Add ``figures`` to the results and print them."""
        self._run += figures
        if not self._quick and not self._out:
            # Only now, because a measurement may have installed the engine.
            facts = machine.facts(self._emulated)
            date = _now()[: len("2026-01-01")]
            self._results = merged(self._results, facts, figures, date=date, commit=self._commit)
            save(self.path, self._results)
            self.draw()
        for figure in figures:
            self.good &= figure.passed is not False
            print(draw.line(figure), flush=True)

    def _close(self) -> None:
        facts = machine.facts(self._emulated)
        text = history.line(self._run, facts, date=_now(), commit=self._commit, quick=self._quick)
        history.append(self._out or self.history, text)
        if not self._out:
            self.draw_history()

    def draw(self) -> None:
        """Write bench/README.md and bench/bench.svg.

        Raises:
            UsageError: nothing was measured on this machine.
        """
        if not self._results:
            what = f"there are no results of this machine: {self.path} is missing."
            raise UsageError(Problem(what=what, fix="Measure something first."))
        folder = self._root / "bench"
        page, chart = draw.page(self._results), draw.chart(self._results)
        write_files({folder / "README.md": page, folder / "bench.svg": chart})

    def draw_history(self) -> None:
        """Write bench/bench-history.svg.

        Raises:
            FileError: there is no history.
        """
        chart = draw_history.chart(history.read(self.history))
        write_files({self._root / "bench" / "bench-history.svg": chart})


def _now() -> str:
    return datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
