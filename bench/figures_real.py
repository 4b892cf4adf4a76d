# SPDX-License-Identifier: Apache-2.0
"""Figure (k): builds with packages of the size of the vendor's."""

from __future__ import annotations

import shutil
from typing import Any

from bench import checkout
from bench.figures_build import Plan
from bench.result import Figure, Series
from bench.session import Session
from cannery.common import console
from cannery.common.model import Layout, Target
from cannery.engine.simulator import build_packages, simulated
from cannery.image.simulator_spec import package_spec

SHARES = {"toolkit": 2 / 3, "kernels": 1 / 3}
"""Component to its share of the size."""

FILES: dict[Layout, dict[str, dict[str, int]]] = {
    Layout.ASCEND_TOOLKIT: {
        "toolkit": {"runtime": 553, "compiler": 593, "hccl": 97, "opp": 8075, "toolkit": 7706},
        "kernels": {"opp_kernel": 2810},
    },
    Layout.CANN: {
        "toolkit": {"runtime": 553, "ge-compiler": 593, "hcomm": 97, "toolkit": 7706},
        "kernels": {"ops_math": 8075, "ops_nn": 2810},
    },
}
"""Component to the number of files that its parts install in ``VENDOR`` bytes.

Source: the file lists of an installed aarch64 8.1.RC1 (leideng/CANN-8.1.RC1); the newer layout is
given the same. The vendor's scripts start 6 to 13 processes for each (runtime 5,858, compiler
4,343, hccl 1,300, opp 52,856), and the simulated ones about as many.
"""

VENDOR = 4.5e9
"""Bytes that the vendor's toolkit and kernels install together."""

_ROOM = 5
"""Free disk space that is needed, as a multiple of the installed size, beside ``_RESERVE``."""

_RESERVE = 6 * 10**9


def cold(session: Session, plan: Plan) -> list[Figure]:
    """(k) Cold builds of both sides with padded packages, one after the other."""
    padded = _padded_session(session, plan)
    ours = padded.ours_cold(plan.main)
    padded.require_comparable(plan.main)
    baseline = padded.baseline_cold(plan.main)
    padded.require_comparable(plan.main)
    padded.cool()
    shutil.rmtree(padded.folder)
    return [
        Figure(
            key="real-cold",
            title=f"cold build with {plan.real_size / 1e9:.1f} GB of toolkit and kernels",
            unit="s",
            ours=Series(what="build.py build", samples=(ours.seconds,)),
            reference=Series(what="baseline", samples=(baseline.seconds,)),
            detail={"target": plan.main.id, "installed_bytes": plan.real_size},
        ),
    ]


def _padded_session(session: Session, plan: Plan) -> Session:
    """A session on a copy of the checkout whose simulated packages are padded.

    Raises:
        EngineError: there is not enough disk space.
    """
    room = _ROOM * plan.real_size + _RESERVE
    session.engine.require_room(room, f"builds with {plan.real_size / 1e9:.1f} GB of packages")
    session.prepare([plan.main])
    target, size, folder = plan.main, plan.real_size, session.folder / "real-size"
    copy = checkout.copied(session.project, folder / "checkout")
    (copy.state / "simulator").unlink()
    console.say(f"making packages of {size / 1e9:.1f} GB")
    large = simulated(copy, target).host.parent
    large.parent.mkdir(parents=True)
    build_packages(copy, target, _padded_spec(target, size), session.source, large)
    padded = Session(
        project=copy,
        engine=session.engine,
        source=session.source,
        folder=folder,
        logs=session.logs,
        bases=session.bases,
    )
    padded.prepare([target])
    return padded


def _padded_spec(target: Target, size: int) -> dict[str, Any]:
    """What the packer is asked for: packages that install ``size`` bytes."""
    spec = package_spec(target)
    files = FILES[target.cann.layout]
    for package in spec["packages"]:
        if package["component"] in SHARES:
            numbers = files[package["component"]]
            package["padding"] = {
                "size": round(SHARES[package["component"]] * size),
                "files": {
                    part: max(1, round(each * size / VENDOR)) for part, each in numbers.items()
                },
            }
    return spec
