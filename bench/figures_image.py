# SPDX-License-Identifier: Apache-2.0
"""Figures (f) and (i): the transfer and the tests of images."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from bench.figures_build import Plan
from bench.registry import new_bytes, registry
from bench.result import Figure, Series
from bench.session import Session
from bench.timing import Line, timed

_CHECKING = re.compile(r"checking .* \(device: (\w+)\)")
_REPORT = re.compile(r"the report is in ")


def transfer(session: Session, plan: Plan) -> list[Figure]:
    """(f) Bytes to pull for the second target of a family, after the first one."""
    session.prepare([plan.main, plan.second])
    session.ours_warm(plan.main, plan.second)
    folder = Path(tempfile.mkdtemp(prefix="registry-", dir=session.folder))
    with registry(folder) as place:
        first = place.push(session.ours_name(plan.main), "first")
        second = place.push(session.ours_name(plan.second), "second")
    return [
        Figure(
            key="pulled",
            title="bytes to pull for the second target, against its size",
            unit="bytes",
            ours=Series(what="new layers", samples=(new_bytes(second, first),)),
            reference=Series(what="the whole image", samples=(sum(second.values()),)),
            detail={"first": plan.main.id, "second": plan.second.id},
        ),
    ]


def tests(session: Session, plan: Plan) -> list[Figure]:
    """(i) The image tests of a target, in total and for each kind of device."""
    session.prepare([plan.main])
    session.ours_warm(plan.main)
    argv = [sys.executable, str(session.project.root / "build.py"), "test"]
    argv += ["--target", plan.main.id, "--simulate"]
    done = [timed(argv, session.logs / "tests.log") for _ in range(plan.runs)]
    return [
        Figure(
            key="tests",
            title="image tests of one target, on all kinds of device",
            unit="s",
            ours=Series(what="build.py test", samples=tuple(each.seconds for each in done)),
            detail={"target": plan.main.id, "by_device": [by_device(d.lines) for d in done]},
        )
    ]


def by_device(lines: Iterable[Line]) -> dict[str, float]:
    """Seconds for each kind of device, from the line in which ``build.py test`` began it."""
    begun: list[tuple[str, float]] = []
    for line in lines:
        if found := _CHECKING.search(line.text):
            begun.append((found[1], line.at))
        elif _REPORT.search(line.text) and begun:
            begun.append(("", line.at))
    return {kind: round(end - start, 1) for (kind, start), (_, end) in pairwise(begun) if kind}
