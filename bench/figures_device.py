# SPDX-License-Identifier: Apache-2.0
"""Figure (d): compiling the software device for the architecture of a target."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.figures_build import Plan
from bench.result import Figure, Series
from bench.session import Session
from bench.steps import parse
from cannery.common import console
from cannery.common.errors import EngineError
from cannery.common.files import read_text
from cannery.common.model import Target
from cannery.engine.simulator import build_packages
from cannery.image.simulator_spec import package_spec

_STEP = "/simulator/device/build.sh"


def compiled(session: Session, plan: Plan) -> list[Figure]:
    """(d) The step that compiles the device, in builds of its packages on an empty engine."""
    session.prepare([plan.main])
    samples = tuple(_seconds(session, plan.main) for _ in range(plan.runs))
    return [
        Figure(
            key="device",
            title=f"compiling the software device for {plan.main.machine}",
            unit="s",
            ours=Series(what="the step of the build", samples=samples),
            detail={"target": plan.main.id},
        )
    ]


def _seconds(session: Session, target: Target) -> float:
    """The duration of one compilation.

    Raises:
        EngineError: the log of the build has no such step, or the step came from a cache.
        CanneryError: the build failed.
    """
    session.cool()
    log = session.project.state / "logs" / "simulator.log"
    with tempfile.TemporaryDirectory(dir=session.folder) as folder:
        spec = package_spec(target)
        build_packages(session.project, target, spec, session.source, Path(folder) / "made")
    steps = [step for step in parse(read_text(log).splitlines()) if _STEP in step.name]
    if len(steps) != 1 or steps[0].cached:
        raise EngineError(f"{log} has no step that has compiled the device.")
    console.say(f"{steps[0].seconds:.1f} s")
    return steps[0].seconds
