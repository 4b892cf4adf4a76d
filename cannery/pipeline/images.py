# SPDX-License-Identifier: Apache-2.0
"""The devices on which images are checked, and what this machine knows of its images."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cannery.deploy.run_spec import DeviceKind, RunSpec, no_device, npu_device, simulated_device
from cannery.errors import EngineError, FileError, Problem
from cannery.execute.engine.images import Images
from cannery.execute.engine.simulator import simulated
from cannery.files import read_text
from cannery.image.checks import checks_digest
from cannery.image.content_key import LABEL
from cannery.image.names import image_name
from cannery.matrix.project import Project
from cannery.model import Target
from cannery.plan.plan import Local
from cannery.report.verification import passed_on


def simulated_host(project: Project, target: Target) -> Path:
    """The simulated driver tree, made by an earlier build, that a container of ``target`` mounts.

    Raises:
        EngineError: it has not been made.
    """
    host = simulated(project, target).host
    if not host.is_dir():
        raise EngineError(
            Problem(
                what="the simulated driver has not been made, or the simulator has changed since.",
                fix=f"Run: python build.py --target {target.id} --simulate",
            )
        )
    return host


def device_specs(host: Path | None) -> list[RunSpec]:
    """On what an image is checked: without a driver, then on what there is.

    ``host`` is the simulated driver tree; without it, this machine's NPUs are what there is.
    """
    device = simulated_device(host) if host else npu_device()
    return [no_device(), device] if device else [no_device()]


def device_kinds(*, simulate: bool) -> frozenset[str]:
    """The kinds of device on which a run checks images."""
    real = npu_device()
    kind = DeviceKind.SIMULATED if simulate else real.kind if real else DeviceKind.NONE
    return frozenset({str(DeviceKind.NONE), str(kind)})


def here(project: Project, name: str, images: Images) -> Local:
    """What this machine has under ``name``, where ``images`` are those that it has."""
    if name not in images:
        return Local()
    image = images[name]
    report = report_text(project, name)
    passed = passed_on(report, image_id=image.id, checks=checks_digest(project))
    return Local(image=image.id, key=image.labels.get(LABEL, ""), passed=passed)


def report_text(project: Project, name: str) -> str:
    """The last report on the image that a target itself calls ``name``; empty without one."""
    try:
        return read_text(_own_report(project, name))
    except (FileNotFoundError, FileError):
        return ""


def report_path(project: Project, target: Target, name: str, *, simulated: bool) -> Path:
    """The path of the report on the image ``name`` as one of ``target``.

    Builds and pushes rely on the report on the target's own image. Only an image that has that
    name, and is what the name says, has its report there.
    """
    if name == image_name(target.id, simulate=simulated):
        return _own_report(project, name)
    digest = hashlib.sha256(name.encode()).hexdigest()
    return project.state / "reports" / "others" / f"{target.id}-{digest[:12]}.json"


def _own_report(project: Project, name: str) -> Path:
    return project.state / "reports" / f"{name.replace(':', '_')}.json"
