# SPDX-License-Identifier: Apache-2.0
"""Figures (h) and (i): commands in a team's project of forty targets, and the image tests."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path

from bench.figures_build import Plan, with_processor
from bench.result import Figure, Series
from bench.session import Session
from bench.timing import timed
from cannery.common.errors import CanneryError
from cannery.common.process import run
from cannery.matrix.project import Project

_MATRIX = re.compile(r"^```yaml\n(schema: .*?)^```", re.MULTILINE | re.DOTALL)
_COMMANDS = {"list": ["list"], "check": ["check"], "render": ["render", "--check"]}


def forty(project: Project, folder: Path, runs: int) -> list[Figure]:
    """(h) Processor time of commands that read all targets of docs/forty-images.md.

    Raises:
        CanneryError: a command failed.
    """
    page = (project.root / "docs" / "forty-images.md").read_text(encoding="utf-8")
    [matrix] = _MATRIX.findall(page)
    (team := folder / "forty").mkdir()

    def cannery(*words: str) -> float:
        return _processor([sys.executable, "-m", "cannery", *words], team, project.root)

    cannery("init", "--ci", "none")
    (team / "matrix.yaml").write_text(matrix, encoding="utf-8")
    cannery("sync")
    return [
        Figure(
            key=f"forty-{name}",
            title=f"processor time: {' '.join(words)}, in a project of forty targets",
            unit="s",
            ours=Series(
                what="whole process",
                samples=tuple(cannery(*words) for _ in range(runs or 5)),
            ),
        )
        for name, words in _COMMANDS.items()
    ]


def _processor(argv: list[str], folder: Path, code: Path) -> float:
    """The seconds of processor time of a command in ``folder``, user and system; getrusage(2).

    Its modules are those of ``code``.

    Raises:
        CanneryError: it failed.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    failed, said = run(argv, cwd=folder, env={"PYTHONPATH": str(code)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if failed:
        raise CanneryError(f"'{' '.join(argv)}' failed ({failed}): {said.strip()}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tests(session: Session, plan: Plan) -> list[Figure]:
    """(i) The image tests of a target, on all kinds of device."""
    session.prepare([plan.main])
    session.ours_warm(plan.main)
    argv = [sys.executable, str(session.project.root / "build.py"), "test"]
    argv += ["--target", plan.main.id, "--simulate"]
    done = [timed(argv, session.logs / "tests.log") for _ in range(plan.runs)]
    figure = Figure(
        key="tests",
        title="image tests of one target, on all kinds of device",
        unit="s",
        ours=Series(what="build.py test", samples=tuple(each.seconds for each in done)),
        detail={"target": plan.main.id},
    )
    return with_processor(figure, [each.processor for each in done])
