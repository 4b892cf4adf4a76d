# SPDX-License-Identifier: Apache-2.0
"""Figure (h): the command line and the matrix. No engine is needed."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from math import log
from pathlib import Path
from typing import Any

from bench import checkout
from bench.result import Figure, Series
from bench.timing import TimeLeft, alternating, always, once
from cannery.common import console
from cannery.common.errors import CanneryError
from cannery.matrix.project import Project

SIZES = (10, 100, 1000)
"""Approximate numbers of targets for which the growth is measured."""

_QUICK = 15


def commands(
    project: Project, runs: int, target: str, shares: Callable[[], TimeLeft] = lambda: always
) -> Iterator[Figure]:
    """Commands as whole processes, against a Python process that does nothing.

    No file has changed since the last time that they were run. A plan asks the engine, if one runs.
    ``shares`` begins the time of a command.
    """
    plan = ("build", "--simulate", "--plan")
    of_lines = (
        ("help", ["--help"]),
        ("list", ["list"]),
        ("explain", ["explain", target]),
        ("check-matrix", ["check"]),
        ("plan-all", [*plan, "--all"]),
        ("plan", [*plan, "--target", target]),
    )
    build = [sys.executable, str(project.root / "build.py")]
    nothing = partial(once, [sys.executable, "-c", "pass"])
    for key, words in of_lines:
        ours = partial(once, [*build, *words])
        ours()
        count = max(runs, _QUICK)
        samples = alternating((count, count), (ours, nothing), shares())
        yield Figure(
            key=key,
            title=f"build.py {' '.join(words)}",
            unit="ms",
            ours=Series(what="whole process", samples=samples[0]),
            reference=Series(what="python -c pass", samples=samples[1]),
        )


def rendering(project: Project, runs: int) -> list[Figure]:
    """``render --check`` against a bare loop in the same process, and its growth."""
    measured = _of_sizes(project, runs)
    return [*_checks(measured[min(measured)]), _growth(measured)]


def rendering_here(project: Project, runs: int) -> list[Figure]:
    """``rendering`` of this matrix only, without its growth."""
    return _checks(_inside(project, runs))


def _of_sizes(project: Project, runs: int) -> dict[int, dict[str, Any]]:
    """What inner.py measures with matrices of several sizes."""
    count = len(project.matrix().targets)
    measured: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-matrix-") as folder:
        for times in checkout.factors(count, SIZES):
            copy = checkout.copied(project, Path(folder) / str(times))
            targets = checkout.grow(copy, times) if times > 1 else count
            console.say(f"measuring render --check with {targets} targets")
            measured[targets] = _inside(copy, max(runs, 3 if targets > 500 else 7))
    return measured


def _checks(here: dict[str, Any]) -> list[Figure]:
    return [
        Figure(
            key="check",
            title=f"render --check of all {here['targets']} targets, against a bare loop",
            unit="ms",
            ours=Series(what="render --check", samples=tuple(here["check"])),
            reference=Series(what="bare loop, same process", samples=tuple(here["bare"])),
            detail={"filled": here["filled"]},
        )
    ]


def _growth(measured: dict[int, dict[str, Any]]) -> Figure:
    """How the time of ``render --check`` grows with the number of targets."""
    medians = {n: statistics.median(found["check"]) for n, found in measured.items()}
    loops = {n: statistics.median(found["bare"]) for n, found in measured.items()}
    return Figure(
        key="growth",
        title=f"growth of render --check up to {max(medians)} targets (1 is linear)",
        unit="exponent",
        ours=Series(what="fitted exponent of the time", samples=(exponent(medians),)),
        detail={
            "ms_per_target": {str(n): round(ms / n, 3) for n, ms in medians.items()},
            "bare_ms_per_target": {str(n): round(ms / n, 3) for n, ms in loops.items()},
            "to_bare_loop": {str(n): round(medians[n] / loops[n], 2) for n in medians},
        },
    )


def unit_tests(project: Project) -> list[Figure]:
    """The duration of ``nox -s unit``."""
    noxfile = str(project.root / "noxfile.py")
    seconds = once([sys.executable, "-m", "nox", "--noxfile", noxfile, "-s", "unit"]) / 1000
    return [
        Figure(
            key="unit",
            title="nox -s unit, on the cores of this machine",
            unit="s",
            ours=Series(what="whole process", samples=(seconds,)),
        )
    ]


def exponent(times: dict[int, float]) -> float:
    """The exponent k of time ~ targets^k: the slope of a line through the logarithms."""
    fit = statistics.linear_regression(
        [log(n) for n in times], [log(milliseconds_) for milliseconds_ in times.values()]
    )
    return float(fit.slope)


def _inside(copy: Project, runs: int) -> dict[str, Any]:
    """Run inner.py with the code of ``copy`` in a separate process; returns its samples."""
    script = Path(__file__).with_name("inner.py")
    # The copy comes first, so that its code is imported and its files are read.
    environment = {**os.environ, "PYTHONPATH": str(copy.root), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, str(script), str(runs)],
        env=environment,
        cwd=copy.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CanneryError(f"render --check could not be measured:\n{done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
